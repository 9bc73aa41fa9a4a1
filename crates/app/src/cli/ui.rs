//! `heirloom ui`

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_service::client::{Answer, Question, ask};
use serde::Serialize;
use serde_json::Value;

use super::service;
use crate::context::Global;
use crate::error::Exit;
use crate::print;

/// Maximum time for the service to make a code.
const PATIENCE: Duration = Duration::from_secs(10);

/// Open the memory in the browser: open loops, what happened, what is known and why, and what waits for a yes
///
/// The page is part of this program and talks only to the service on this machine, which is started if it does not run.
/// Its address carries a code that can be used once, for a minute; to open the page again, run this command again. If
/// no browser can be opened, the address is printed.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print the address instead of opening a browser
    #[arg(long)]
    no_open: bool,
}

/// Address of the page.
#[derive(Serialize)]
struct Page {
    /// URL with the code in its fragment, which no server and no log sees.
    address: String,
    /// Validity of the code in seconds.
    seconds: u64,
    /// True if a browser was asked to show the page.
    opened: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let running = service::running_or_started(global)?;
    let url = running.url().ok_or_else(|| {
        Error::refused("the service listens on its socket only, and a browser needs a port")
            .hint("⟨service stop⟩, then ⟨serve --port 0⟩ or ⟨service start⟩")
    })?;
    let headers: Vec<(&str, &str)> = [("content-type", "application/json")]
        .into_iter()
        .chain(global.agent.as_deref().map(|agent| (heirloom_http::AGENT, agent)))
        .collect();
    let until = Instant::now() + PATIENCE;
    let question = Question { method: "POST", path: "/v1/session/code", headers: &headers, body: b"{}", until };
    let silent = |_| Error::new(ErrorKind::Busy, "the service does not answer").hint("try again");
    let (code, seconds) = code_in(ask(&running.socket, &question).map_err(silent)?)?;
    let address = format!("{url}/#{code}");
    // The code is visible in the browser's arguments while it starts; it can be used once, within a minute.
    let opened = !args.no_open && !global.json && browser(&address);
    let page = Page { address, seconds, opened };
    Ok(print::answer(global.json, &page, || match page.opened {
        true => print::line(&format!("The memory is open in your browser, at {url}.")),
        false => {
            print::line(&page.address);
            print::note(&format!("Open it in a browser on this machine within {seconds} seconds; it is good once."));
        }
    }))
}

/// Returns the code, and its validity in seconds.
fn code_in(answer: Answer) -> Result<(String, u64)> {
    let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    match (answer.status, said["code"].as_str()) {
        (200, Some(code)) => Ok((code.to_owned(), said["seconds"].as_u64().unwrap_or(60))),
        (status, _) => {
            let what = said["detail"].as_str().unwrap_or("the service makes no code");
            Err(Error::refused(format!("{what} ({status})"))
                .hint("a service of an older build ends by itself: ⟨service stop⟩, then this again"))
        }
    }
}

/// Asks the desktop to open the address. Returns whether a program accepted it.
fn browser(address: &str) -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let opener = if cfg!(target_os = "macos") {
        "open".to_owned()
    } else if let Some(own) = set("BROWSER").filter(|own| !own.contains([':', ' ', '%'])) {
        own
    } else if set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some() {
        "xdg-open".to_owned()
    } else {
        return false;
    };
    let run =
        Command::new(opener).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = run else { return false };
    // An opener that fails ends at once; a browser keeps running.
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => return false,
        }
    }
    true
}
