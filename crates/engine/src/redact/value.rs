//! Whether a value looks like a secret or only stands where one would stand.

/// How much the name says about the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trust {
    /// A password: may be short, may be a word.
    Password,
    /// `pass`: a password, or how many tests did.
    Pass,
    /// A token, key or secret: made by a machine, so it has digits among its letters.
    Made,
    /// `auth` and the like: names of many other things too.
    Vague,
}

/// How a value is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub quoted: bool,
    /// As in `NAME=value` of a shell or an `.env` file: what stands there is the value, not the name of a variable.
    pub literal: bool,
    /// Compared with rather than given.
    pub compared: bool,
}

/// More than this of a value is not looked at.
const LOOK: usize = 256;

pub(super) fn is_secret(value: &str, trust: Trust, written: Written) -> bool {
    let Written { quoted, literal, compared } = written;
    if trust == Trust::Pass {
        return !value.bytes().all(|b| b.is_ascii_digit()) && is_secret(value, Trust::Password, written);
    }
    let value = &value[..value.floor_char_boundary(LOOK)];
    let bytes = value.as_bytes();
    let has = |what: fn(&u8) -> bool| bytes.iter().any(what);
    let digit = has(u8::is_ascii_digit);
    let symbol = has(|b| b.is_ascii_punctuation() && !b"-_.,:/'()".contains(b));
    let long = bytes.len() >= 8 || (trust == Trust::Password && bytes.len() >= 6 && (digit || symbol));
    if !long || is_reference(value) || is_placeholder(value) || is_place(value) || variety(bytes) < 3 {
        return false;
    }
    if has(u8::is_ascii_whitespace) {
        // Sentences about passwords stand where passwords stand.
        let spaces = bytes.iter().filter(|b| b.is_ascii_whitespace()).count();
        return trust == Trust::Password && quoted && spaces <= 2 && digit && has(|b| b"@#$%^&*=+~".contains(b));
    }
    if compared {
        return quoted && looks_made(bytes);
    }
    if !quoted && is_code(value, literal) {
        return false;
    }
    let number = bytes.iter().all(u8::is_ascii_digit);
    let version = bytes.contains(&b'.') && bytes.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let hex_number = value.strip_prefix("0x").is_some_and(|rest| rest.len() <= 16);
    // `challengePassword`: the name of a field.
    let field = value.contains("Password") && bytes.iter().all(u8::is_ascii_alphabetic);
    if version || hex_number || field || value.starts_with("--") {
        return false;
    }
    match trust {
        Trust::Password | Trust::Pass if quoted || literal => !is_name(value) || literal,
        Trust::Password | Trust::Pass => digit || symbol,
        _ if number => false,
        Trust::Made if literal => digit || bytes.len() >= 12 || (symbol && !bytes.contains(&b'=')),
        _ if has(|b| b"()[]{}<>|\\".contains(b)) => false,
        Trust::Made => looks_made(bytes) || (quoted && made_by_hand(bytes)),
        Trust::Vague => bytes.len() >= 12 && looks_made(bytes),
    }
}

/// Stands for a value that is somewhere else: `${VAR}`, `process.env.X`, `<your token>`, `op://…`, or was taken out.
pub(super) fn is_reference(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let variable = |rest: &str| rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    lower.contains("[redacted")
        || lower.contains("redacted]")
        || lower.contains("${")
        || lower.contains("$(")
        || lower.contains("{{")
        || lower.contains("env.")
        || lower.contains("env[")
        || lower.contains("environ")
        || lower.contains("getenv")
        || lower.contains("env(")
        || lower.strip_prefix('$').is_some_and(variable)
        || lower.strip_prefix("$env:").is_some_and(variable)
        || lower.strip_prefix("%env:").is_some_and(variable)
        || lower.strip_prefix('%').and_then(|v| v.strip_suffix('%')).is_some_and(variable)
        || (lower.starts_with('<') && (lower.ends_with('>') || !lower.contains('>')))
        || (lower.starts_with('{') && lower.ends_with('}'))
        || (lower.starts_with("__") && lower.ends_with("__"))
        || lower.starts_with('%') && lower.len() <= 3
        || ["op://", "vault:", "ref:", "enc[", "arn:", "ssm:", "secret://", "keychain:", "!", "-----", "$2", "$argon"]
            .iter()
            .any(|head| lower.starts_with(head) && (*head != "!" || lower[1..].bytes().all(|b| b.is_ascii_lowercase())))
        || is_masked(value)
}

/// `****`, `xxxxxx`, `....`, `…`, `abc***`: what other programs leave of a secret.
fn is_masked(value: &str) -> bool {
    value.contains("***")
        || value.contains("...")
        || value.contains('…')
        || value.contains("••")
        || value.to_ascii_lowercase().contains("xxxx")
        || value.chars().all(|c| matches!(c, 'x' | 'X' | '*' | '.' | '-' | '_' | '?' | '#' | '0'))
}

/// The words that stand where a secret belongs, among them the names of types.
const PLACEHOLDERS: &[&str] = &[
    "access",
    "any",
    "apikey",
    "api",
    "array",
    "auth",
    "authorization",
    "bearer",
    "bool",
    "boolean",
    "bytes",
    "bytestring",
    "change",
    "changeit",
    "changeme",
    "credential",
    "credentials",
    "default",
    "disabled",
    "empty",
    "enabled",
    "expired",
    "false",
    "hidden",
    "incorrect",
    "input",
    "int",
    "integer",
    "invalid",
    "kennwort",
    "key",
    "masked",
    "missing",
    "nil",
    "none",
    "null",
    "number",
    "object",
    "omitted",
    "option",
    "optional",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "passwordfield",
    "passwort",
    "private",
    "prompt",
    "redacted",
    "removed",
    "required",
    "sanitized",
    "secret",
    "secretstr",
    "securestring",
    "sensitive",
    "str",
    "string",
    "text",
    "token",
    "true",
    "undefined",
    "unknown",
    "unset",
    "user",
    "username",
    "varchar",
    "void",
    "unauthorized",
    "forbidden",
    "authenticated",
    "contraseña",
    "unchanged",
];

/// Any of these as a word makes the whole a placeholder.
const TELLING: &[&str] =
    &["your", "yours", "placeholder", "changeme", "example", "dummy", "insert", "replace", "todo", "redacted", "goes"];

pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let lower = lower.trim_matches(|c: char| !c.is_alphanumeric());
    if lower.is_empty() || looks_made_words(lower.as_bytes()) {
        return lower.is_empty() && value.len() < 6;
    }
    let mut words = crate::text::words::runs(lower, &[]).map(|(_, word)| word);
    lower.replace(['-', '_', ' '], "").as_str() == "changethis"
        || words
            .clone()
            .any(|w| TELLING.contains(&w.trim_end_matches(|c: char| c.is_ascii_digit())) || w.starts_with("your"))
        || words.all(|w| PLACEHOLDERS.contains(&w))
}

/// A path or an address. A secret in base64 may have slashes too, but not between words.
fn is_place(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let address =
        ["http:", "https:", "file:", "sha256:", "sha256-", "sha384-", "sha512-", "sha1-", "md5:", "data:", "ssh-"];
    let rooted = ["/", "./", "../", "~/", "~\\", ".\\", "c:\\"].iter().any(|head| lower.starts_with(head));
    address.iter().any(|head| lower.starts_with(head))
        || lower.contains("://")
        || (rooted && !lower.split(['/', '\\']).any(|part| part.len() >= 16 && looks_made(part.as_bytes())))
        || (lower.contains('/') && !lower.bytes().any(|b| b.is_ascii_digit()) && !value.contains(['+', '=', '!']))
}

/// An expression rather than a value: calls, indexing, members, or a variable called like what it holds.
fn is_code(value: &str, literal: bool) -> bool {
    if value.contains(['(', '[', '{']) || value.contains("::") || value.contains("->") {
        return true;
    }
    if literal {
        return false;
    }
    if value.starts_with(['$', '*', '&'])
        || value.strip_suffix('=').is_some_and(|v| v.bytes().all(|b| b.is_ascii_alphabetic()))
    {
        return true;
    }
    let ident = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && (part.len() < 12 || !looks_made(part.as_bytes()))
    };
    let typed = |part: &str| part.ends_with("Key") || part.ends_with("Token") || part.ends_with("Secret");
    let member =
        value.contains('.') && value.trim_end_matches(['!', '?']).split('.').all(|part| ident(part) || typed(part));
    member || (ident(value) && is_name(value))
}

/// Written like a name in a program, and one of a secret: `db_password_2`, `access-token`.
fn is_name(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        && value.contains(['_', '-', '.'])
        && ["password", "passwd", "secret", "token", "key", "auth", "pass"].iter().any(|stem| lower.contains(stem))
        && !looks_made(value.as_bytes())
}

/// Digits among letters, in a run without a break.
pub(super) fn looks_made(value: &[u8]) -> bool {
    let symbols = value.iter().filter(|b| b"!@#$%^&*+=~?".contains(b)).count();
    looks_made_words(value) || (symbols >= 2 && value.iter().any(u8::is_ascii_alphabetic))
}

fn looks_made_words(value: &[u8]) -> bool {
    let base32 = |run: &[u8]| run.len() >= 16 && run.iter().all(u8::is_ascii_uppercase) && variety(run) >= 8;
    value.split(|b| !b.is_ascii_alphanumeric()).any(|run| {
        let digits = run.iter().filter(|b| b.is_ascii_digit()).count();
        let letters = run.len() - digits;
        let changes = run.windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
        (run.len() >= 8 && letters >= 1 && (digits >= 2 || (run.len() >= 16 && changes >= 2)))
            || (changes >= 3 && value.len() >= 8)
            || base32(run)
    })
}

/// `s3cr3t-v4lue`, `Tr0ub4dor`: digits on both sides of letters more than once.
fn made_by_hand(value: &[u8]) -> bool {
    let inside = value
        .windows(3)
        .filter(|t| t[1].is_ascii_digit() && t[0].is_ascii_alphabetic() && t[2].is_ascii_alphabetic())
        .count();
    inside >= 2
}

/// How many different bytes there are.
pub(super) fn variety(bytes: &[u8]) -> u32 {
    let mut seen = [0u64; 4];
    for byte in bytes.iter().take(LOOK) {
        seen[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }
    seen.iter().map(|s| s.count_ones()).sum()
}
