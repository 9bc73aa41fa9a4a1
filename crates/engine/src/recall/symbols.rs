//! Turns one typed word into terms: names with signs inside are kept whole and in parts, scripts without spaces are cut
//! into pieces that the index can match.
//!
//! The result is folded as [`crate::text::indexed::fold`] folds the indexed text, so both sides agree.

use super::query::{Kind, Term};
use crate::text::indexed::{BREAK, words_of};
use crate::text::scripts::{Script, is_emoji, script};
use crate::text::words::humps;

/// The length to which people usually shorten hashes.
const SHORT_HASH: usize = 7;

/// Returns the terms of one word without white space, the whole first. Empty if it has no letter and no digit.
pub(super) fn terms(word: &str) -> Vec<Term> {
    let prefix = word.ends_with('*') && word.chars().filter(|c| c.is_alphanumeric()).count() >= 2;
    let word = word.trim_end_matches('*');
    if word.contains(is_emoji) {
        let mut out: Vec<Term> = Vec::new();
        for piece in word.split_inclusive(is_emoji) {
            let letters = piece.trim_end_matches(is_emoji);
            let emoji = Term { text: words_of(&piece[letters.len()..]), prefix: false, kind: Kind::Word };
            let found = terms(letters).into_iter().chain(Some(emoji).filter(|t| !t.text.is_empty()));
            out.extend(found.filter(|t| !out.contains(t)).collect::<Vec<_>>());
        }
        return out;
    }
    let whole = words_of(word);
    if whole.is_empty() {
        return Vec::new();
    }
    if whole.contains(BREAK) {
        return unspaced(word, prefix);
    }
    let pieces: Vec<&str> = whole.split(' ').collect();
    if let [one] = pieces[..] {
        return plain(one, word, prefix);
    }
    // "well-known" is two words; "orders_test.rs" is a name.
    let trimmed = word.trim_matches(|c: char| !c.is_alphanumeric());
    let words = trimmed.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’'));
    let kind = if words { Kind::Word } else { Kind::Exact };
    let mut out = vec![Term { text: whole.clone(), prefix, kind }];
    // The numbers of a version or a date mean nothing alone.
    let numeric = |piece: &str| piece.bytes().all(|b| b.is_ascii_digit());
    if pieces.iter().skip(1).all(|p| numeric(p)) && numeric(pieces[0].trim_start_matches(['v', 'V'])) {
        let other = match whole.strip_prefix(['v', 'V']) {
            Some(bare) => bare.to_owned(),
            None => format!("v{whole}"),
        };
        if word.contains('.') {
            out.push(Term { text: other, prefix: false, kind: Kind::Variant });
        }
        return out;
    }
    let mut add = |text: String, kind: Kind| {
        if !text.is_empty() && out.iter().all(|t| t.text != text) {
            out.push(Term { text, prefix: false, kind });
        }
    };
    // Without its line number, `src/queue.rs:120` is a file, named by its last component; `a::b` is two names.
    let named = word.trim_end_matches(|c: char| c == ':' || c.is_ascii_digit());
    if named.len() < word.len() && word[named.len()..].starts_with(':') {
        add(words_of(named), Kind::Variant);
    }
    for segment in named.split(['/', '\\', '#']).flat_map(|s| s.split("::")) {
        let text = words_of(segment);
        if text.contains(' ') {
            add(text, Kind::Variant);
        }
    }
    // snake_case may be camelCase elsewhere.
    if word.contains('_') && !word.contains(['.', '/', ':', '-']) {
        add(pieces.concat(), Kind::Variant);
    }
    for piece in &pieces {
        let number = numeric(piece) && piece.len() < 3;
        // Some signs count as letters in the index but are no letters; a piece of only such signs is left out.
        let says = piece.chars().any(char::is_alphanumeric);
        if !number && says && piece.chars().count() > 1 {
            add((*piece).to_owned(), Kind::Part);
        }
    }
    out
}

/// Returns the terms of one run of letters and digits.
fn plain(text: &str, typed: &str, prefix: bool) -> Vec<Term> {
    let lower = |c: &u8| c.is_ascii_lowercase();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if hex && (SHORT_HASH..=64).contains(&text.len()) && digits > 0 && digits < text.len() {
        // A hash may be typed short and stored long, or the other way round.
        let mut out = vec![Term { text: text.to_owned(), prefix: true, kind: Kind::Exact }];
        if text.len() > SHORT_HASH {
            out.push(Term { text: text[..SHORT_HASH].to_owned(), prefix: false, kind: Kind::Variant });
        }
        return out;
    }
    let code = digits > 0 && digits < text.len();
    let numbered = digits == text.len() && typed.starts_with('#');
    let humps = humps(text);
    let camel = humps.len() > 1 && text.as_bytes().iter().any(lower);
    let kind = if code || numbered || camel { Kind::Exact } else { Kind::Word };
    let mut out = vec![Term { text: text.to_owned(), prefix, kind }];
    if camel {
        out.push(Term { text: humps.join(" "), prefix: false, kind: Kind::Variant });
        let parts = humps.iter().filter(|h| h.len() > 2);
        out.extend(parts.map(|h| Term { text: (*h).to_owned(), prefix: false, kind: Kind::Part }));
    }
    out
}

/// Returns the terms of a word in a script without spaces: the whole, each run of one script, and overlapping pieces of
/// long runs, because nothing marks the end of a word.
fn unspaced(word: &str, prefix: bool) -> Vec<Term> {
    let mut runs: Vec<(Script, String)> = Vec::new();
    for c in word.chars() {
        match (runs.last_mut(), script(c)) {
            (Some((last, run)), script) if *last == script => run.push(c),
            (_, script) => runs.push((script, c.to_string())),
        }
    }
    runs.retain(|(script, run)| *script != Script::Sign && !words_of(run).is_empty());
    let mut out: Vec<Term> = Vec::new();
    let mut add = |text: &str, prefix: bool, kind: Kind| {
        let text = words_of(text);
        if !text.is_empty() && out.iter().all(|t| t.text != text) {
            out.push(Term { text, prefix, kind });
        }
    };
    let several = runs.len() > 1;
    if several {
        add(word, false, Kind::Variant);
    }
    // Hiragana between other characters are endings and particles; a single character is hardly a word.
    let content = |(script, run): &(Script, String)| match script {
        Script::Hiragana => false,
        Script::Spaced => true,
        _ => run.chars().count() > 1,
    };
    let any = runs.iter().any(content);
    for (at, run) in runs.iter().enumerate() {
        let kind = if content(run) || !any { Kind::Word } else { Kind::Part };
        add(&run.1, prefix && at + 1 == runs.len() && run.0 == Script::Spaced, kind);
    }
    for (script, run) in &runs {
        let chars: Vec<char> = run.chars().collect();
        let (longest, size) = match script {
            Script::Han | Script::Hangul => (2, 2),
            Script::Katakana => (5, 3),
            Script::Vowelled => (5, 4),
            Script::Hiragana if !any => (3, 3),
            Script::Hiragana | Script::Spaced | Script::Sign => continue,
        };
        if chars.len() > longest {
            for piece in chars.windows(size) {
                add(&piece.iter().collect::<String>(), false, Kind::Part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_in_parts() {
        // `=` exact, `~` a variant, `-` a part.
        let shown = |t: Term| {
            let sign = match t.kind {
                Kind::Word | Kind::Quoted => "",
                Kind::Exact => "=",
                Kind::Variant => "~",
                Kind::Part => "-",
                Kind::Report => "!",
            };
            format!("{sign}{}{}", t.text.replace(BREAK, ""), if t.prefix { "*" } else { "" })
        };
        for (word, want) in [
            ("redis", "redis"),
            ("refund*", "refund*"),
            ("ECONNREFUSED", "ECONNREFUSED"),
            ("E0277", "=E0277"),
            ("TS2345", "=TS2345"),
            ("0x80070005", "=0x80070005"),
            ("#123", "=123"),
            ("123", "123"),
            ("1.95.0", "=1 95 0, ~v1 95 0"),
            ("v1.95.0", "=v1 95 0, ~1 95 0"),
            ("2025-05-03", "=2025 05 03"),
            ("a1b2c3d", "=a1b2c3d*"),
            ("a1b2c3d4e5f60718293a4b5c6d7e8f9012345678", "=a1b2c3d4e5f60718293a4b5c6d7e8f9012345678*, ~a1b2c3d"),
            ("deadbeef", "deadbeef"),
            ("bar.rs:120", "=bar rs 120, ~bar rs, -bar, -rs, -120"),
            ("src/foo/bar.rs", "=src foo bar rs, ~bar rs, -src, -foo, -bar, -rs"),
            ("foo::bar_baz", "=foo bar baz, ~bar baz, -foo, -bar, -baz"),
            ("refund_twice", "=refund twice, ~refundtwice, -refund, -twice"),
            ("refundTwice", "=refundTwice, ~refund Twice, -refund, -Twice"),
            ("HTTPServer", "=HTTPServer, ~HTTP Server, -HTTP, -Server"),
            ("LGBTQ", "LGBTQ"),
            ("well-known", "well known, -well, -known"),
            ("東京", "東京"),
            ("数据库索引", "数据库索引, -数据, -据库, -库索, -索引"),
            ("東京タワーはどこ", "~東京タワーはどこ, 東京, タワー, -はどこ"),
            ("行く", "~行く, 行, く"),
            ("redisを", "~redisを, redis, -を"),
            ("서울에서", "서울에서, -서울, -울에, -에서"),
            ("กรุงเทพ", "กรุงเทพ, -กรุง, -รุงเ, -ุงเท, -งเทพ"),
            ("🚀", "xqe1f680"),
            ("done✅✅", "done, xqe2705"),
            ("?!", ""),
            ("*", ""),
        ] {
            let found: Vec<String> = terms(word).into_iter().map(shown).collect();
            assert_eq!(found.join(", "), want, "{word}");
        }
    }
}
