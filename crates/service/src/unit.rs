//! Files by which a system starts the service with the user's session: a unit of systemd's user manager, and an agent
//! of launchd. This module only makes text; it writes and runs nothing.

use std::path::{Path, PathBuf};

/// Name of the systemd unit.
pub const UNIT: &str = "heirloom.service";

/// Label of the launchd agent.
pub const LABEL: &str = "io.github.heirloom-memory.heirloom";

/// Values for the unit or agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    pub program: PathBuf,
    pub home: PathBuf,
    /// Arguments behind `serve --home HOME`.
    pub more: Vec<String>,
    /// Variables the service needs, because the system starts it without the user's shell.
    pub variables: Vec<(String, String)>,
}

impl Start {
    fn arguments(&self) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let fixed = [text(&self.program), "serve".into(), "--home".into(), text(&self.home)];
        fixed.into_iter().chain(self.more.iter().cloned()).collect()
    }
}

/// Returns the unit for systemd's user manager.
pub fn systemd(start: &Start) -> String {
    let command: Vec<String> = start.arguments().iter().map(|argument| in_command(argument)).collect();
    let mut variables = String::new();
    for (name, value) in &start.variables {
        variables += &format!("Environment={}\n", quoted(&format!("{name}={value}").replace('%', "%%")));
    }
    format!(
        "# Written by heirloom service install; heirloom service uninstall takes it back.\n\
         [Unit]\n\
         Description=Heirloom, the memory of agent programs\n\
         ConditionPathIsDirectory={}\n\
         \n\
         [Service]\n\
         Type=notify\n\
         ExecStart={}\n\
         {variables}\
         Restart=on-failure\n\
         RestartSec=2\n\
         TimeoutStopSec=10\n\
         UMask=0077\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        start.home.to_string_lossy().replace('%', "%%"),
        command.join(" "),
    )
}

/// Returns the property list of a launchd agent. `log` is the file for the service's output.
pub fn launchd(start: &Start, log: &Path) -> String {
    let string = |text: &str| format!("<string>{}</string>", in_xml(text));
    let arguments: String = start.arguments().iter().map(|text| format!("    {}\n", string(text))).collect();
    let mut variables = String::new();
    if !start.variables.is_empty() {
        variables += "  <key>EnvironmentVariables</key>\n  <dict>\n";
        for (name, value) in &start.variables {
            variables += &format!("    <key>{}</key>\n    {}\n", in_xml(name), string(value));
        }
        variables += "  </dict>\n";
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- Written by heirloom service install; heirloom service uninstall takes it back. -->\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  {}\n  <key>ProgramArguments</key>\n  <array>\n{arguments}  </array>\n\
         {variables}  <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
         \x20 <key>ProcessType</key>\n  <string>Background</string>\n  <key>Umask</key>\n  <integer>63</integer>\n\
         \x20 <key>StandardErrorPath</key>\n  {}\n</dict>\n</plist>\n",
        string(LABEL),
        string(&log.to_string_lossy()),
    )
}

/// Quotes an argument for `ExecStart`, where systemd expands `%x` and `$x`.
fn in_command(argument: &str) -> String {
    let escaped = argument.replace('%', "%%").replace('$', "$$");
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !escaped.is_empty() && escaped.chars().all(plain) { escaped } else { quoted(&escaped) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out += "\\n",
            c => out.push(c),
        }
    }
    out + "\""
}

fn in_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Start {
        Start {
            program: "/opt/my tools/heirloom".into(),
            home: "/home/me/100% mine/$HOME".into(),
            more: vec!["--port".into(), "0".into()],
            variables: vec![("CODEX_HOME".into(), "/data/\"codex\" & <co>".into())],
        }
    }

    #[test]
    fn systemd_gets_the_words_and_not_its_own_meaning_of_them() {
        assert_eq!(
            systemd(&start()),
            "# Written by heirloom service install; heirloom service uninstall takes it back.
[Unit]
Description=Heirloom, the memory of agent programs
ConditionPathIsDirectory=/home/me/100%% mine/$HOME

[Service]
Type=notify
ExecStart=\"/opt/my tools/heirloom\" serve --home \"/home/me/100%% mine/$$HOME\" --port 0
Environment=\"CODEX_HOME=/data/\\\"codex\\\" & <co>\"
Restart=on-failure
RestartSec=2
TimeoutStopSec=10
UMask=0077

[Install]
WantedBy=default.target
"
        );
    }

    #[test]
    fn launchd_gets_well_formed_xml() {
        assert_eq!(
            launchd(&start(), Path::new("/home/me/log")),
            r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by heirloom service install; heirloom service uninstall takes it back. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>io.github.heirloom-memory.heirloom</string>
  <key>ProgramArguments</key>
  <array>
    <string>/opt/my tools/heirloom</string>
    <string>serve</string>
    <string>--home</string>
    <string>/home/me/100% mine/$HOME</string>
    <string>--port</string>
    <string>0</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>CODEX_HOME</key>
    <string>/data/"codex" &amp; &lt;co&gt;</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ProcessType</key>
  <string>Background</string>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardErrorPath</key>
  <string>/home/me/log</string>
</dict>
</plist>
"#
        );
    }
}
