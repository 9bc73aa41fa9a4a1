//! Ways to break one line of JSON, as disks, editors, other programs and attackers do. Works on the bytes and knows
//! nothing about the fields a program uses.

use crate::Rng;

/// Nesting that overflows the stack of a parser that recurses.
const DEEP: usize = 100_000;

/// Every kind of damage, in the order of [`mutate_with`]'s numbers.
pub const MUTATIONS: &[&str] = &[
    "truncated",
    "bit flipped",
    "NUL inside",
    "byte order mark",
    "CRLF",
    "invalid UTF-8",
    "lone surrogate",
    "deep nesting",
    "duplicate key",
    "1e400",
    "wrong type",
    "missing id",
    "regex bomb",
];

/// Breaks a line in one random way. The result may contain line breaks, as a file could.
pub fn mutate(line: &[u8], rng: &mut Rng) -> Vec<u8> {
    let which = rng.below(MUTATIONS.len());
    mutate_with(which, line, rng)
}

/// Breaks a line in the way `MUTATIONS[which]` names. Panics if there is no such way.
///
/// If a line lacks what a mutation would damage (a string, a key), that is inserted first, so that the result always
/// differs from the line.
pub fn mutate_with(which: usize, line: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut out = line.to_vec();
    match MUTATIONS[which] {
        "truncated" if line.is_empty() => out.push(b'{'),
        "truncated" => out.truncate(rng.below(line.len())),
        "bit flipped" if line.is_empty() => out.push(1),
        "bit flipped" => out[rng.below(line.len())] ^= 1 << rng.below(8),
        "NUL inside" => out.insert(rng.below(line.len() + 1), 0),
        "byte order mark" => splice(&mut out, 0, b"\xEF\xBB\xBF"),
        "CRLF" => {
            let end = out.strip_suffix(b"\n").map_or(out.len(), <[u8]>::len);
            out.truncate(end);
            out.extend(b"\r\n");
        }
        "invalid UTF-8" => {
            let bad: &[u8] =
                rng.pick::<&[u8]>(&[b"\xFF", b"\xC0\xAF", b"\xED\xA0\x80", b"\xF4\x90\x80\x80", b"\xE2\x82"]);
            let at = inside_string(line, rng);
            splice(&mut out, at, bad);
        }
        "lone surrogate" => {
            let at = inside_string(line, rng);
            splice(&mut out, at, rng.pick::<&[u8]>(&[br"\ud800", br"\uDFFF", br"\ud83d\u0041"]));
        }
        "deep nesting" => {
            let (open, close) = *rng.pick(&[("[", "]"), (r#"{"a":"#, "}")]);
            let value = [open.repeat(DEEP), "1".into(), close.repeat(DEEP)].concat();
            insert_member(&mut out, "deep", &value);
        }
        "duplicate key" => {
            let key = keys(line)
                .first()
                .map_or("a".to_owned(), |(start, end)| String::from_utf8_lossy(&line[start + 1..end - 1]).into_owned());
            insert_member(&mut out, &key, "null");
        }
        "1e400" => {
            insert_member(&mut out, "number", rng.pick::<&str>(&["1e400", "-1e400", "1e-400", "99999999999999999999"]))
        }
        "wrong type" => {
            let other = *rng.pick(&["null", "true", "-7", "[]", "{}", r#""""#, "1.5"]);
            match pick_member(line, rng) {
                Some((_, value, end)) => drop(out.splice(value..end, other.bytes())),
                None => out = format!("[{other}, {other}]").into_bytes(),
            }
        }
        "missing id" => {
            let ids: Vec<_> = keys(line).into_iter().filter(|(s, e)| ends_with_id(&line[s + 1..e - 1])).collect();
            match ids.is_empty() {
                // Renaming removes the member without touching the commas around it.
                false => {
                    let (start, _) = *rng.pick(&ids);
                    splice(&mut out, start + 1, b"not_");
                }
                true => insert_member(&mut out, "id", "null"),
            }
        }
        _ => {
            // A million characters that make a backtracking matcher try every combination.
            let text = *rng.pick(&["a", "<", "(", " ", "\\\\", "`", "=-"]);
            insert_member(&mut out, "bomb", &format!("\"{}!\"", text.repeat(1_000_000 / text.len())));
        }
    }
    out
}

fn splice(out: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    out.splice(at..at, bytes.iter().copied());
}

/// Inserts a member at the beginning of the outermost object, or creates an object.
fn insert_member(out: &mut Vec<u8>, key: &str, value: &str) {
    match out.iter().position(|b| *b == b'{') {
        Some(at) => {
            let comma = if out[at + 1..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'}') { "" } else { "," };
            splice(out, at + 1, format!("\"{key}\":{value}{comma}").as_bytes());
        }
        None => splice(out, 0, format!("{{\"{key}\":{value}}}").as_bytes()),
    }
}

/// Returns the strings of the line as ranges that include the quotes.
fn strings(line: &[u8]) -> Vec<(usize, usize)> {
    let (mut found, mut start, mut at) = (Vec::new(), None, 0);
    while at < line.len() {
        match (line[at], start) {
            (b'\\', Some(_)) => at += 1,
            (b'"', None) => start = Some(at),
            (b'"', Some(begin)) => {
                found.push((begin, at + 1));
                start = None;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Returns the strings that are keys: those followed by a colon.
fn keys(line: &[u8]) -> Vec<(usize, usize)> {
    let colon = |end: usize| line[end..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
    strings(line).into_iter().filter(|(_, end)| colon(*end)).collect()
}

/// Returns a random member with a scalar value: the start of its key, and the start and end of its value.
fn pick_member(line: &[u8], rng: &mut Rng) -> Option<(usize, usize, usize)> {
    let strings = strings(line);
    let members: Vec<_> = keys(line)
        .into_iter()
        .filter_map(|(start, end)| {
            let colon = end + line[end..].iter().position(|b| *b == b':')?;
            let value = colon + 1 + line[colon + 1..].iter().position(|b| !b.is_ascii_whitespace())?;
            let stop = match line[value] {
                b'"' => strings.iter().find(|(s, _)| *s == value)?.1,
                b'{' | b'[' => return None,
                _ => value + line[value..].iter().position(|b| matches!(b, b',' | b'}' | b']'))?,
            };
            Some((start, value, stop))
        })
        .collect();
    if members.is_empty() { None } else { Some(*rng.pick(&members)) }
}

fn inside_string(line: &[u8], rng: &mut Rng) -> usize {
    let strings = strings(line);
    if strings.is_empty() { 0 } else { rng.pick(&strings).0 + 1 }
}

fn ends_with_id(key: &[u8]) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with(b"id")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] =
        br#"{"uuid":"a1","parentUuid":null,"n": 3, "message":{"role":"user","content":"he said \"hi\""}}"#;

    #[test]
    fn every_way_changes_the_line_and_repeats() {
        for (which, name) in MUTATIONS.iter().enumerate() {
            for line in [LINE, b"{}", b"", b"no json", b"[1,2]"] {
                for seed in 0..20 {
                    let broken = mutate_with(which, line, &mut Rng::new(seed));
                    assert_ne!(broken, line, "{name} of {line:?}");
                    assert_eq!(broken, mutate_with(which, line, &mut Rng::new(seed)));
                }
            }
        }
    }

    #[test]
    fn mutations_do_what_their_names_say() {
        let broken = |name: &str| {
            let which = MUTATIONS.iter().position(|m| *m == name).unwrap();
            mutate_with(which, LINE, &mut Rng::new(3))
        };
        assert!(LINE.starts_with(&broken("truncated")));
        assert!(broken("CRLF").ends_with(b"}\r\n"));
        assert!(std::str::from_utf8(&broken("invalid UTF-8")).is_err());
        assert!(broken("deep nesting").len() > 2 * DEEP);
        assert!(broken("regex bomb").len() > 1_000_000);
        assert!(broken("duplicate key").starts_with(br#"{"uuid":null,"uuid":"a1""#));
        let text = String::from_utf8(broken("missing id")).unwrap();
        assert!(text.contains("not_"), "{text}");
    }
}
