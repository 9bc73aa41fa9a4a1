//! Parses shell commands as far as they are certain: simple commands with their words, redirections and here-documents.
//! A word with a variable, a pattern or a substitution is marked uncertain, because it names no file for sure.

/// Maximum bytes of a command that are read.
const MOST: usize = 16 * 1024;
/// Maximum number of simple commands of a script.
const MOST_COMMANDS: usize = 64;

const LEADS: [&str; 12] =
    ["then", "do", "else", "elif", "if", "while", "!", "sudo", "time", "command", "exec", "nohup"];

/// A word of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arg {
    pub text: String,
    /// Whether it has no variable, pattern or substitution, so that its text is literal.
    pub certain: bool,
}

/// A simple command.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Simple {
    pub args: Vec<Arg>,
    /// The files that its output is redirected to.
    pub outputs: Vec<Arg>,
    /// The here-document it reads.
    pub here: String,
    /// Variables set before the command, or without one.
    pub sets: Vec<(String, Arg)>,
}

impl Simple {
    /// Returns the program's name without its folder.
    pub fn program(&self) -> &str {
        self.args.first().map_or("", |a| a.text.rsplit('/').next().unwrap_or(""))
    }

    /// Returns the words after the program that are not options.
    pub fn operands(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().skip(1).filter(|a| !a.text.starts_with('-'))
    }

    pub fn has(&self, option: &str) -> bool {
        self.args.iter().any(|a| a.text == option)
    }
}

/// Returns the command a tool was called with, from its input of `key: value` lines.
pub fn command_in(input: &str) -> Option<&str> {
    let keys = ["command: ", "cmd: ", "script: ", "code: "];
    let mut at = 0;
    for line in input.split_inclusive('\n').take(12) {
        if let Some(key) = keys.iter().find(|k| line.starts_with(**k)) {
            return Some(body(&input[at + key.len()..]));
        }
        at += line.len();
    }
    None
}

/// Returns the value up to the next key; a command of several lines may contain any text.
fn body(value: &str) -> &str {
    let mut end = value.len();
    let known = [
        "description: ",
        "timeout: ",
        "workdir: ",
        "yield_time_ms: ",
        "cwd: ",
        "run_in_background: ",
        "max_output_tokens: ",
        "justification: ",
        "sandbox_permissions: ",
        "env: ",
        "login: ",
        "background: ",
        "timeout_ms: ",
        "with_escalated_permissions: ",
    ];
    // Only the last lines can be other keys; lines in between that look like keys belong to the command.
    while let Some(at) = value[..end].trim_end().rfind('\n') {
        if known.iter().any(|k| value[at + 1..end].starts_with(k)) {
            end = at;
        } else {
            break;
        }
    }
    value[..end].trim_end()
}

/// Returns the script inside `["bash","-lc","…"]`, or the command itself.
pub fn script(command: &str) -> std::borrow::Cow<'_, str> {
    if command.starts_with("[\"")
        && command.len() <= 1024 * 1024
        && let Ok(words) = serde_json::from_str::<Vec<String>>(command)
    {
        let shell = words.first().is_some_and(|w| matches!(w.rsplit('/').next(), Some("bash" | "sh" | "zsh" | "dash")));
        if shell && words.len() >= 3 && words[1].starts_with('-') {
            return std::borrow::Cow::Owned(words.into_iter().nth(2).unwrap_or_default());
        }
        return std::borrow::Cow::Owned(words.join(" "));
    }
    std::borrow::Cow::Borrowed(command)
}

/// Returns the simple commands of a script, in order.
pub fn parse(script: &str) -> Vec<Simple> {
    let mut end = script.len().min(MOST);
    while !script.is_char_boundary(end) {
        end -= 1;
    }
    Parser {
        text: &script[..end],
        chars: script[..end].char_indices().peekable(),
        found: Vec::new(),
        heres: Vec::new(),
    }
    .run()
}

struct Parser<'s> {
    text: &'s str,
    chars: std::iter::Peekable<std::str::CharIndices<'s>>,
    found: Vec<Simple>,
    /// End markers of here-documents that begin on the next line, each with the command that reads it.
    heres: Vec<(String, usize)>,
}

impl Parser<'_> {
    fn run(mut self) -> Vec<Simple> {
        let mut simple = Simple::default();
        while let Some(&(at, c)) = self.chars.peek() {
            if self.found.len() >= MOST_COMMANDS {
                break;
            }
            match c {
                '\n' => {
                    self.chars.next();
                    self.end(&mut simple);
                    self.skip_heres();
                }
                ';' | '|' | '&' => {
                    self.chars.next();
                    let next = self.chars.peek().map(|(_, c)| *c);
                    if c == '&' && next == Some('>') {
                        continue;
                    }
                    self.end(&mut simple);
                }
                '(' | ')' | '{' | '}' if c != '{' || self.text[at + 1..].starts_with([' ', '\n']) => {
                    self.chars.next();
                    self.end(&mut simple);
                }
                '#' => while self.chars.next_if(|(_, c)| *c != '\n').is_some() {},
                '<' if self.text[at..].starts_with("<<") => {
                    self.chars.next();
                    self.chars.next();
                    if self.chars.next_if(|(_, c)| *c == '<').is_some() {
                        self.blanks();
                        self.word();
                        continue;
                    }
                    self.chars.next_if(|(_, c)| *c == '-');
                    self.blanks();
                    let end = self.word().text;
                    self.heres.push((end, self.found.len()));
                }
                '>' | '<' => {
                    self.chars.next();
                    while self.chars.next_if(|(_, c)| matches!(c, '>' | '|')).is_some() {}
                    if self.chars.next_if(|(_, c)| *c == '&').is_some() {
                        self.word();
                        if self.text[..at].ends_with(['1', '2'])
                            && simple.args.last().is_some_and(|a| a.text == "2" || a.text == "1")
                        {
                            simple.args.pop();
                        }
                        continue;
                    }
                    self.blanks();
                    let target = self.word();
                    // `2>` redirects error messages, not the output.
                    let errors = simple.args.last().is_some_and(|a| a.text == "2" || a.text == "1")
                        && self.text[..at].ends_with(['1', '2']);
                    let second = errors && self.text[..at].ends_with('2');
                    if errors {
                        simple.args.pop();
                    }
                    // `() => value` is a function of a script, not an output.
                    if c == '>' && !second && !target.text.is_empty() && !self.text[..at].ends_with('=') {
                        simple.outputs.push(target);
                    }
                }
                c if c.is_whitespace() => {
                    self.chars.next();
                }
                _ => {
                    let word = self.word();
                    // In `A=b program`, the assignment is not the program.
                    let sets = simple.args.is_empty()
                        && word.text.split_once('=').is_some_and(|(n, _)| {
                            !n.is_empty() && n.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                        });
                    if let Some((name, value)) = word.text.split_once('=').filter(|_| sets) {
                        let value = Arg { text: value.to_owned(), certain: word.certain };
                        simple.sets.push((name.to_owned(), value));
                    } else {
                        simple.args.push(word);
                    }
                }
            }
        }
        self.end(&mut simple);
        self.found
    }

    fn end(&mut self, simple: &mut Simple) {
        let mut simple = std::mem::take(simple);
        // These words only introduce the command: `then sed …`, `sudo tee …`, `time cargo test`.
        let leads = simple.args.iter().take_while(|a| LEADS.contains(&a.text.as_str())).count();
        simple.args.drain(..leads);
        if !simple.args.is_empty() || !simple.outputs.is_empty() || !simple.sets.is_empty() {
            self.found.push(simple);
        }
    }

    fn blanks(&mut self) {
        while self.chars.next_if(|(_, c)| matches!(c, ' ' | '\t')).is_some() {}
    }

    /// Reads the bodies of the here-documents of the line just ended.
    fn skip_heres(&mut self) {
        for (end, reader) in std::mem::take(&mut self.heres) {
            let from = self.chars.peek().map_or(self.text.len(), |(at, _)| *at);
            let mut to = from;
            while let Some(&(at, _)) = self.chars.peek() {
                let line = self.text[at..].split('\n').next().unwrap_or("");
                let stop = at + line.len();
                while self.chars.next_if(|(i, _)| *i < stop).is_some() {}
                self.chars.next();
                if line.trim() == end {
                    break;
                }
                to = stop;
            }
            if let Some(simple) = self.found.get_mut(reader) {
                simple.here = self.text.get(from..to).unwrap_or_default().to_owned();
            }
        }
    }

    /// Reads one word without its quotes. Always takes at least one character.
    fn word(&mut self) -> Arg {
        let mut arg = Arg { text: String::new(), certain: true };
        let mut any = false;
        while let Some(&(_, c)) = self.chars.peek() {
            match c {
                '\'' => {
                    self.chars.next();
                    while let Some((_, c)) = self.chars.next().filter(|(_, c)| *c != '\'') {
                        arg.text.push(c);
                    }
                }
                '"' => {
                    self.chars.next();
                    while let Some((_, c)) = self.chars.next() {
                        match c {
                            '"' => break,
                            '\\' => {
                                // A backslash escapes only these characters; before others it stays, as in a path of
                                // Windows.
                                match self.chars.next_if(|(_, c)| matches!(c, '"' | '\\' | '$' | '`' | '\n')) {
                                    Some((_, '\n')) => {}
                                    Some((_, c)) => arg.text.push(c),
                                    None => arg.text.push('\\'),
                                }
                            }
                            c => {
                                arg.certain &= !matches!(c, '$' | '`');
                                arg.text.push(c);
                            }
                        }
                    }
                }
                '\\' => {
                    self.chars.next();
                    if let Some((_, c)) = self.chars.next().filter(|(_, c)| *c != '\n') {
                        arg.text.push(c);
                    }
                }
                c if c.is_whitespace() || matches!(c, ';' | '|' | '&' | '<' | '>' | '(' | ')') => {
                    if any {
                        break;
                    }
                    // This character is no part of a word: return to the caller, but never without progress.
                    return arg;
                }
                c => {
                    arg.certain &= !matches!(c, '$' | '*' | '?' | '`' | '[' | '{');
                    arg.text.push(c);
                    self.chars.next();
                }
            }
            any = true;
        }
        arg
    }
}
