//! Finds program source that a person pasted without a fence: imports, definitions, assignments, with what stands
//! between them.

/// Fewest lines that look like source before a part of a message counts as source: people mention one or two.
const FEWEST: usize = 3;

/// Most lines between two lines of source that belong to it: a comment, a text in quotation marks.
const APART: usize = 8;

/// For each line, whether it belongs to pasted source.
pub fn source_lines(lines: &[&str]) -> Vec<bool> {
    let mut found = vec![false; lines.len()];
    let code: Vec<usize> = (0..lines.len()).filter(|i| is_source(lines[*i])).collect();
    // A gap of many lines divides two parts.
    for part in code.chunk_by(|a, b| b - a <= APART) {
        let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
        let told = (*first..=*last).filter(|i| !lines[*i].trim().is_empty()).count();
        if part.len() >= FEWEST && 2 * part.len() >= told {
            found[*first..=*last].fill(true);
        }
    }
    found
}

/// Whether a line is a statement of a programming language. A sentence is none, also if it names code.
pub fn is_source(line: &str) -> bool {
    let indented = line.starts_with("    ") || line.starts_with('\t');
    let line = line.trim();
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = words.first() else { return false };
    let is_name = |word: &str| {
        let word = word.trim_end_matches([',', ';']);
        !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '*' | '/' | '@' | ':'))
    };
    let imports = match *first {
        "import" => match words[1..] {
            [_] => line.ends_with(';') || is_name(words[1]),
            [_, "as", _] => true,
            _ => line.contains(" from \"") || line.contains(" from '") || line.contains('{'),
        },
        "from" => words.get(2) == Some(&"import"),
        "#include" | "#define" | "#pragma" => true,
        "using" | "package" | "namespace" => line.ends_with([';', '{']),
        _ => false,
    };
    let defines = match *first {
        "def" | "fn" | "func" | "function" | "async" => line.contains('(') && line.ends_with([':', '{', '>']),
        "class" | "struct" | "interface" | "enum" | "impl" | "trait" => line.ends_with([':', '{']),
        "public" | "private" | "protected" | "static" | "export" | "const" | "let" | "var" => {
            line.ends_with([';', '{', '(']) || words.get(2) == Some(&"=")
        }
        "return" => line.ends_with(';') || indented,
        "if" | "for" | "while" | "else" | "elif" | "try:" | "try" | "except" | "with" | "catch" | "switch"
        | "finally:" => {
            line.ends_with('{')
                || line.ends_with(':') && (indented || line.contains(['(', '_', '.']) || words.len() < 3)
        }
        _ => false,
    };
    let closes = line.chars().all(|c| matches!(c, '{' | '}' | '(' | ')' | '[' | ']' | ',' | ';' | '>' | '/'));
    let calls = || {
        let head = line.split('(').next().unwrap_or_default();
        line.contains('(')
            && line.ends_with([')', ';', '('])
            && !head.is_empty()
            && !head.contains(' ')
            && is_name(head)
    };
    let assigns = || match line.split_once(" = ").or_else(|| line.split_once(" += ")) {
        Some((name, _)) => name.split([' ', ':']).count() <= 2 && name.split_whitespace().all(is_name),
        None => false,
    };
    let decorates =
        || line.starts_with('@') && line.contains('(') || line.starts_with("\"\"\"") || line.starts_with("//");
    let ends =
        || indented && line.ends_with([';', '{', '}', ',']) && line.contains(['(', ')', '=', '"', '\'', '}', '{']);
    imports || defines || closes || calls() || assigns() || decorates() || ends()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Vec<&str> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let source = source_lines(&lines);
        lines
            .iter()
            .zip(source)
            .filter(|(line, is)| !is && !line.trim().is_empty())
            .map(|(line, _)| line.trim())
            .collect()
    }

    #[test]
    fn source_between_sentences_is_found() {
        let text = "similar code is in\n\nhandler.py\n\nimport asyncio\nimport redis.asyncio as redis\nfrom typing import Any, Dict\n\n\
             def initialize(logger, url) -> None:\n    \"\"\"\n    Initialize the database.\n    \"\"\"\n    conn = connect(url)\n    \
             logger.info(conn)\n    return conn\n\nwhy is it never called?";
        assert_eq!(kept(text), ["similar code is in", "handler.py", "why is it never called?"]);
    }

    #[test]
    fn sentences_are_no_source() {
        let text = "import the new list from the sheet\nreturn to the first page\nif it fails, try again\nlet me know:\n\
             use a class, no struct\nfor each row: one line\n";
        assert_eq!(kept(text).len(), 6);
        assert!(!is_source("import the new list from the sheet"));
        assert!(!is_source("let us use port = 80"));
        assert!(!is_source("call main() and then test()"));
    }

    #[test]
    fn two_lines_are_only_mentioned() {
        assert_eq!(kept("I have\nimport os\nimport sys\nat the top, is that right?").len(), 4);
    }
}
