//! `heirloom embed`

use std::path::{Path, PathBuf};
use std::time::Instant;

use heirloom_embed::HttpEmbedder;
use heirloom_engine::clock::Clock;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::{Publication, digest, layout};
use heirloom_engine::report::status::Renewing;
use serde::Serialize;
use toml::Value;

use crate::config::{self, Embeddings, ModelAt};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::hook;
use crate::{print, section};

/// The embedding model, which finds text that is near in meaning: show it, or choose another one
///
/// The built-in model is a table that needs no file, no network and hardly any time. A sentence model of the MiniLM
/// kind in a folder, or an OpenAI-compatible endpoint, finds more paraphrases and takes milliseconds for each text.
/// After a change all turns are embedded anew in the background; until that is done, searches use the old vectors.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Show the chosen model, the one that answers now, and the progress of a change
    Status,
    /// Choose another model: a folder, an endpoint, or built-in
    ///
    /// The model is tried first, and the cost of the change is printed before anything is written. Then the section
    /// embeddings of config.toml is replaced, and the worker starts.
    Use(Use),
}

#[derive(clap::Args, Debug)]
struct Use {
    /// A folder with config.json, model.safetensors and vocab.txt; the URL of an endpoint; or built-in
    #[arg(value_name = "DIR|URL|built-in")]
    what: String,

    /// The model's name, as the endpoint knows it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// The dimensions of its vectors [default: asked of the endpoint]
    #[arg(long, value_name = "N")]
    dimensions: Option<usize>,

    /// The environment variable that holds the endpoint's key
    #[arg(long, value_name = "VARIABLE")]
    key_from: Option<String>,

    /// Try the model and print what the change would cost; change nothing
    #[arg(long)]
    dry_run: bool,
}

/// The value that means the table in the binary.
const BUILT_IN: &str = "built-in";

/// Sample texts embedded before a model is chosen: a question, two sentences and a long answer. They show that the
/// model works and how long a text takes.
const TRIED: [&str; 4] = [
    "Why did the deployment fail on Friday?",
    "The migration takes a lock on the orders table, so run it at night.",
    "Wir haben uns für die kleinere Datenbank entschieden.",
    "Done. The importer now reads the file in pieces instead of at once, which keeps memory flat at forty megabytes; the \
     two tests that were red had compared floating point numbers exactly and now allow for rounding. I left the old \
     reader in place behind a flag until the nightly run has been green for a week, and noted that in the changelog.",
];

/// Bytes a vector takes beside its dimensions: the key, and a code with one bit for each dimension.
const KEY_BYTES: u64 = 12;

/// The report of `embed use`: the chosen model and the cost of embedding everything with it.
#[derive(Serialize)]
struct Chosen {
    /// The model, by the name stored with its vectors.
    model: String,
    /// The folder or URL of the model, or `built-in`.
    at: String,
    dimensions: usize,
    /// The mean time to embed one sample text, in milliseconds.
    ms_per_text: f64,
    /// Turns to embed anew.
    turns: u64,
    /// The estimated time to embed these turns, in seconds.
    seconds: f64,
    /// The estimated size of the vectors in the index, in bytes.
    bytes: u64,
    /// True if nothing was written (`--dry-run`).
    dry_run: bool,
    /// True if this model was chosen before, too.
    unchanged: bool,
}

/// The report of `embed status`: the model of the settings and the one that answers now.
#[derive(Serialize)]
struct State {
    /// Name of the model in the settings; null if it cannot be used.
    model: Option<String>,
    at: String,
    problem: Option<String>,
    /// Name of the model whose vectors answer searches now.
    in_use: Option<String>,
    renewing: Option<Renewing>,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::Status => status(global),
        Command::Use(wanted) => take(global, &wanted),
    }
}

fn status(global: &Global) -> Result<Exit> {
    let report = Context::open(global)?.acting_as("cli embed").status()?.embeddings;
    let state = State {
        model: report.model,
        at: report.at,
        problem: report.problem,
        in_use: report.in_use,
        renewing: report.renewing,
    };
    Ok(print::answer(global.json, &state, || {
        let wanted = state.model.as_deref().unwrap_or("by words only");
        print::line(&format!("{}  ({})", print::safe_line(wanted), print::safe_line(&state.at)));
        if let Some(problem) = &state.problem {
            print::line(&print::safe_line(problem));
        }
        match (&state.renewing, &state.in_use) {
            (Some(renewing), in_use) => print::line(&going_on(*renewing, in_use.as_deref())),
            (None, Some(in_use)) if state.model.as_ref().is_some_and(|m| m != in_use) => {
                print::line(&format!("{in_use} answers until its vectors are made: heirloom work"));
            }
            (None, None) => print::line("no vectors yet: heirloom work"),
            (None, Some(_)) => {}
        }
    }))
}

/// Describes the progress of a change of model.
pub fn going_on(renewing: Renewing, in_use: Option<&str>) -> String {
    let made =
        format!("{} of {} embedded anew", print::count(renewing.turns), print::counted(renewing.of_turns, "turn"));
    match in_use {
        Some(model) => format!("{made}; {model} answers until all are"),
        None => made,
    }
}

fn take(global: &Global, wanted: &Use) -> Result<Exit> {
    let context = Context::open(global)?;
    let settings = settings(wanted)?;
    let model = settings.embedder()?;
    // The first text may have to load the model; only the others are timed.
    let vectors = model.embed(&TRIED[..1])?;
    let started = Instant::now();
    let more = model.embed(&TRIED[1..])?;
    let ms_per_text = started.elapsed().as_secs_f64() * 1e3 / (TRIED.len() - 1) as f64;
    if let Some(odd) = vectors.iter().chain(&more).find(|v| v.len() != model.dimensions()) {
        return Err(Error::refused(format!("the model gives vectors of {} numbers", odd.len()))
            .hint("check that it is an embedding model"));
    }
    if more.iter().all(|v| v.iter().all(|x| *x == 0.0)) {
        return Err(Error::refused("the model knows no word of an ordinary sentence")
            .hint("check its vocabulary, or take another one"));
    }
    let turns = context.acting_as("cli embed").status()?.stored.turns;
    let dimensions = model.dimensions() as u64;
    let before = config::file(context.home()).map(|file| file.embeddings).unwrap_or_default();
    let chosen = Chosen {
        model: model.model().to_owned(),
        at: settings.model_at()?.shown(),
        dimensions: model.dimensions(),
        ms_per_text: (ms_per_text * 1e3).round() / 1e3,
        turns,
        seconds: (turns as f64 * ms_per_text / 1e3).round(),
        bytes: turns * (dimensions + dimensions / 8 + KEY_BYTES),
        dry_run: wanted.dry_run,
        unchanged: before.model_at().is_ok_and(|at| settings.model_at().is_ok_and(|new| new == at)),
    };
    if !global.json {
        people(&chosen);
    }
    if !wanted.dry_run {
        write(&context, &values(&settings)?)?;
        hook::worker::start(context.home());
    }
    if global.json {
        print::report(&chosen);
    } else if !wanted.dry_run && !chosen.unchanged {
        print::line("The worker makes the vectors: heirloom embed status. Searches go on meanwhile.");
        if settings.model_at()? != ModelAt::BuiltIn {
            print::line("Back: heirloom embed use built-in");
        }
    }
    Ok(Exit::Ok)
}

fn people(chosen: &Chosen) {
    print::line(&format!("{}  ({})", print::safe_line(&chosen.model), print::safe_line(&chosen.at)));
    print::line(&format!(
        "{} dimensions · {:.1} ms a text · {} take {} and {} of the index",
        chosen.dimensions,
        chosen.ms_per_text,
        print::counted(chosen.turns, "turn"),
        duration(chosen.seconds),
        print::bytes(chosen.bytes)
    ));
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("about {} s", s.max(1.0)),
        s if s < 5_400.0 => format!("about {:.0} minutes", s / 60.0),
        s => format!("about {:.1} hours", s / 3_600.0),
    }
}

/// Builds the settings for a model from the arguments. Asks an endpoint for the dimensions of its vectors.
fn settings(wanted: &Use) -> Result<Embeddings> {
    let of_endpoint = [
        ("--model", wanted.model.is_some()),
        ("--dimensions", wanted.dimensions.is_some()),
        ("--key-from", wanted.key_from.is_some()),
    ];
    let is_url = wanted.what.contains("://");
    if let Some((option, _)) = of_endpoint.iter().find(|(_, given)| *given && !is_url) {
        return Err(Error::usage(format!("{option} is about an endpoint")).hint("leave it out, or give a URL"));
    }
    if wanted.what == BUILT_IN {
        return Ok(Embeddings::default());
    }
    if !is_url {
        let folder = folder(&wanted.what)?;
        return Ok(Embeddings { model_folder: Some(folder), ..Embeddings::default() });
    }
    let model = wanted.model.clone().ok_or_else(|| {
        Error::usage("an endpoint serves several models: which one?").hint("add --model NAME, as the endpoint knows it")
    })?;
    let mut settings = Embeddings {
        endpoint: Some(address(&wanted.what)),
        model: Some(model),
        dimensions: wanted.dimensions.or(Some(1)),
        key_from: wanted.key_from.clone(),
        ..Embeddings::default()
    };
    let is_set = |name: &String| std::env::var(name).is_ok_and(|key| !key.is_empty());
    if let Some(name) = wanted.key_from.as_ref().filter(|name| !is_set(name)) {
        return Err(Error::usage(format!("{} is not set", print::safe_line(name)))
            .hint("export the key under this name; the worker reads it from there, too"));
    }
    if wanted.dimensions.is_none() {
        settings.dimensions = Some(HttpEmbedder::dimensions_of(settings.endpoint()?)?);
    }
    Ok(settings)
}

/// Completes an endpoint's URL: `http://127.0.0.1:11434` and `…/v1` become `…/v1/embeddings`.
fn address(url: &str) -> String {
    let bare = url.trim_end_matches('/');
    let path = bare.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    match path {
        "" => format!("{bare}/v1/embeddings"),
        "v1" => format!("{bare}/embeddings"),
        _ => url.to_owned(),
    }
}

fn folder(named: &str) -> Result<PathBuf> {
    let path = Path::new(named);
    let whole = std::path::absolute(path).map_err(|e| Error::io("find", path, e))?;
    match whole.is_dir() {
        true => Ok(whole),
        false => {
            Err(Error::not_found(format!("there is no folder {}", print::safe_line(&whole.display().to_string())))
                .hint("name a folder with config.json, model.safetensors and vocab.txt, a URL, or built-in"))
        }
    }
}

/// Returns the values for the section `embeddings`; empty for the built-in table.
fn values(settings: &Embeddings) -> Result<Vec<(&'static str, Value)>> {
    let text = |text: &str| Value::String(text.to_owned());
    Ok(match settings.model_at()? {
        ModelAt::BuiltIn => Vec::new(),
        ModelAt::Folder(folder) => {
            let path = folder.to_str().ok_or_else(|| Error::usage("the folder's path is not UTF-8").hint("move it"))?;
            vec![("model_folder", text(path))]
        }
        ModelAt::Endpoint { url, model, dimensions } => {
            let mut values = vec![
                ("endpoint", text(url)),
                ("model", text(model)),
                ("dimensions", Value::Integer(dimensions as i64)),
            ];
            values.extend(settings.key_from.as_deref().map(|name| ("key_from", text(name))));
            values
        }
    })
}

fn write(context: &Context, values: &[(&str, Value)]) -> Result<()> {
    let home = context.home();
    let held = home
        .try_lock("config")?
        .ok_or_else(|| Error::new(ErrorKind::Busy, "another heirloom is writing config.toml").hint("try again"))?;
    let old = home.read(&layout::CONFIG, 1 << 20)?;
    let text = String::from_utf8(old.clone().unwrap_or_default())
        .map_err(|e| Error::usage("config.toml is not UTF-8").because(e))?;
    let new = section::replaced(&text, "embeddings", values)?;
    if new == text {
        return Ok(());
    }
    let base = old.as_deref().map(digest);
    let what = Publication { path: &layout::CONFIG, bytes: new.as_bytes(), base, own: base };
    home.publish(&held, &what, Clock::System.now(), &mut |_| Ok(())).map(drop)
}
