//! A module of the page as it is delivered: without comments, indentation and the spaces that only people need. The
//! words of the program stay as they are written, so what it means, and what an error of it says, stays, too.

/// Words before a regular expression; behind all others a `/` divides.
const BEFORE_EXPRESSION: &[&str] =
    &["return", "typeof", "instanceof", "in", "new", "delete", "void", "throw", "case", "do", "else"];
/// Words that are names or keywords, depending on what is around them.
const EITHER: &[&str] = &["of", "yield", "await"];
/// Words whose parentheses are followed by a statement, which may begin with a regular expression.
const BEFORE_STATEMENT: &[&str] = &["if", "while", "for", "with"];

/// Returns the module with the same tokens and nothing between them that they do not need. Strings, templates and
/// regular expressions are kept byte for byte. Returns nothing if a `/` cannot be understood without a parser, or if a
/// string, a template, a comment or a bracket does not end: such a module is to be delivered as it is written.
pub fn delivered(source: &str) -> Option<String> {
    // They end lines, too, but not for those who write here.
    if source.contains(['\r', '\u{2028}', '\u{2029}']) {
        return None;
    }
    let mut out =
        Writer { source, text: String::with_capacity(source.len()), last: Token::None, before: Token::None, at: 0 };
    // The kinds of the open brackets, which decide whether a `/` behind a bracket divides or begins a regular expression.
    let mut open: Vec<Bracket> = Vec::new();
    while let Some(token) = out.next_token()? {
        match token {
            '/' => match out.slash()? {
                Slash::Divides => out.keep(Token::Mark('/'), 1),
                Slash::Expression => out.keep(Token::Literal, end_of_expression(out.rest())?),
            },
            '"' | '\'' => out.keep(Token::Literal, end_of_string(out.rest(), token)?),
            '`' => out.template(1, &mut open)?,
            '}' if open.last() == Some(&Bracket::Template) => {
                open.pop();
                out.template(1, &mut open)?;
            }
            '(' => {
                let word = match out.last {
                    Token::Word { is_property: false, start, end } => &source[start..end],
                    _ => "",
                };
                // `for await (…)` and `await (…)` look alike here.
                open.push(match word {
                    "await" => Bracket::Unsure,
                    word if BEFORE_STATEMENT.contains(&word) => Bracket::Statement,
                    _ => Bracket::Plain,
                });
                out.keep(Token::Mark('('), 1);
            }
            '[' | '{' => {
                open.push(Bracket::Plain);
                out.keep(Token::Mark(token), 1);
            }
            ')' | ']' | '}' => {
                let closed = open.pop().filter(|bracket| *bracket != Bracket::Template)?;
                out.keep(if token == '}' { Token::Mark('}') } else { Token::Closed(token, closed) }, 1);
            }
            c if is_of_word(c) => out.word(),
            '>' => out.arrow(),
            c => out.keep(Token::Mark(c), c.len_utf8()),
        }
    }
    out.text.push('\n');
    open.is_empty().then_some(out.text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// Of an expression, a list, a block.
    Plain,
    /// `if (…)`: a statement follows.
    Statement,
    /// `${…}`: the rest of a template follows.
    Template,
    /// Not known without a parser.
    Unsure,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    None,
    Word {
        is_property: bool,
        start: usize,
        end: usize,
    },
    /// A string, a piece of a template, a regular expression with its flags.
    Literal,
    Closed(char, Bracket),
    Mark(char),
    /// A `++` or `--`, before or behind its name.
    Step,
}

enum Slash {
    Divides,
    Expression,
}

struct Writer<'a> {
    source: &'a str,
    text: String,
    last: Token,
    before: Token,
    /// Where reading goes on.
    at: usize,
}

impl<'a> Writer<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    /// Goes to the next token, and writes what has to stand before it. Returns its first character, or nothing at the
    /// end; no answer if a comment does not end.
    fn next_token(&mut self) -> Option<Option<char>> {
        let (mut apart, mut lines) = (false, false);
        loop {
            let rest = self.rest();
            let gap = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(remark) = rest.strip_prefix("/*") {
                remark.find("*/")? + 4
            } else {
                rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len())
            };
            if gap == 0 {
                break;
            }
            apart = true;
            lines |= rest[..gap].contains('\n');
            self.at += gap;
        }
        let Some(next) = self.rest().chars().next() else { return Some(None) };
        if self.ends_needlessly(next) {
            self.text.pop();
        } else if let (true, Some(last)) = (apart, self.text.chars().next_back()) {
            // A line's end can end a statement, unless one side of it cannot stand there.
            if lines && !"([{,;:?=&|<>".contains(last) && !")]},;:?&|".contains(next) {
                self.text.push('\n');
            } else if would_join(last, next) || (self.last == Token::Literal && last == '/' && is_of_word(next)) {
                self.text.push(' ');
            }
        }
        Some(Some(next))
    }

    /// Returns whether the text ends in a comma or a semicolon that means nothing before this end of a bracket. In a
    /// list a comma may stand for an element, and a semicolon may be the whole body of an `if` or a loop.
    fn ends_needlessly(&self, next: char) -> bool {
        match (self.last, next) {
            (Token::Mark(','), ')' | '}') => true,
            (Token::Mark(';'), '}') => match self.before {
                Token::Word { start, end, .. } => !matches!(&self.source[start..end], "else" | "do"),
                Token::Literal | Token::Closed(_, Bracket::Plain) => true,
                _ => false,
            },
            _ => false,
        }
    }

    fn keep(&mut self, token: Token, bytes: usize) {
        let is_step = matches!(token, Token::Mark('+' | '-')) && self.last == token && !self.text.ends_with(' ');
        self.text.push_str(&self.rest()[..bytes]);
        self.at += bytes;
        self.before = self.last;
        self.last = if is_step { Token::Step } else { token };
    }

    fn word(&mut self) {
        let bytes = self.rest().find(|c| !is_of_word(c)).unwrap_or(self.rest().len());
        let is_property = self.last == Token::Mark('.') && !self.text.ends_with("...");
        self.keep(Token::Word { is_property, start: self.at, end: self.at + bytes }, bytes);
    }

    /// Keeps a `>`. If it ends an arrow, the one name in parentheses before the arrow needs no parentheses.
    fn arrow(&mut self) {
        if let (Token::Closed(')', _), Token::Mark('=')) = (self.before, self.last)
            && let Some(ahead) = self.text.strip_suffix(")=").map(|ahead| ahead.trim_end_matches(is_of_word))
            && let Some(ahead) = ahead.strip_suffix('(')
            && !ahead.ends_with(is_of_word)
        {
            let at = ahead.len();
            if self.text.len() > at + "()=".len() {
                self.text.replace_range(self.text.len() - 2.., "=");
                self.text.remove(at);
            }
        }
        self.keep(Token::Mark('>'), 1);
    }

    /// Keeps a template, or what follows a `${…}` in it, up to the next `${` or to its end.
    fn template(&mut self, from: usize, open: &mut Vec<Bracket>) -> Option<()> {
        let rest = self.rest();
        let mut at = from;
        loop {
            at += rest[at..].find(['`', '\\', '$'])?;
            match &rest.as_bytes()[at..] {
                [b'`', ..] => break self.keep(Token::Literal, at + 1),
                [b'$', b'{', ..] => {
                    open.push(Bracket::Template);
                    break self.keep(Token::Mark('{'), at + 2);
                }
                [b'\\', ..] => at += 1 + rest[at + 1..].chars().next()?.len_utf8(),
                _ => at += 1,
            }
        }
        Some(())
    }

    /// Tells what a `/` is by the token before it.
    fn slash(&self) -> Option<Slash> {
        Some(match self.last {
            Token::Word { is_property: true, .. } | Token::Literal => Slash::Divides,
            Token::Word { start, end, .. } => match &self.source[start..end] {
                word if EITHER.contains(&word) => return None,
                word if BEFORE_EXPRESSION.contains(&word) => Slash::Expression,
                _ => Slash::Divides,
            },
            Token::Closed(_, Bracket::Statement) => Slash::Expression,
            Token::Closed(_, Bracket::Plain) => Slash::Divides,
            // Behind a block a statement begins, behind an object it is divided.
            Token::Closed(..) | Token::Mark('}' | '.') | Token::Step => return None,
            Token::Mark(_) | Token::None => Slash::Expression,
        })
    }
}

/// Returns whether a character belongs to a name, a keyword or a number.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '#' | '\\') || (!c.is_ascii() && !c.is_whitespace())
}

/// Returns whether two characters would be read as one word, number, mark or comment if nothing stood between them.
fn would_join(last: char, next: char) -> bool {
    let pairs = [('+', '+'), ('-', '-'), ('/', '/'), ('/', '*'), ('*', '/'), ('<', '/'), ('<', '!'), ('?', '.')];
    let is_of_number = |c| c == '.' || is_of_word(c);
    pairs.contains(&(last, next)) || (is_of_number(last) && is_of_number(next))
}

/// Returns the bytes of the string at the beginning of the text.
fn end_of_string(text: &str, mark: char) -> Option<usize> {
    let mut at = 1;
    loop {
        at += text[at..].find([mark, '\\', '\n'])?;
        match text.as_bytes()[at] {
            b'\n' => return None,
            b'\\' => at += 1 + text[at + 1..].chars().next()?.len_utf8(),
            _ => return Some(at + 1),
        }
    }
}

/// Returns the bytes of the regular expression at the beginning of the text, with its flags. A `/` in a class of
/// characters does not end it.
fn end_of_expression(text: &str) -> Option<usize> {
    let (mut at, mut in_class) = (1, false);
    loop {
        at += text[at..].find(['/', '\\', '[', ']', '\n'])?;
        match text.as_bytes()[at] {
            b'\n' => return None,
            b'\\' => at += text[at + 1..].chars().next()?.len_utf8(),
            b'[' => in_class = true,
            b']' => in_class = false,
            _ if in_class => {}
            _ => {
                let flags = text[at + 1..].find(|c: char| !c.is_ascii_alphabetic());
                return Some(flags.map_or(text.len(), |flags| at + 1 + flags));
            }
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::delivered;

    #[track_caller]
    fn gives(source: &str, expected: &str) {
        assert_eq!(delivered(source).as_deref(), Some(&*format!("{expected}\n")), "{source}");
    }

    #[test]
    fn remarks_indentation_and_spaces_between_marks_go() {
        gives("// A remark.\n/** Another. */\nimport { a } from \"./a.js\";\n", "import{a}from\"./a.js\";");
        gives(
            "const f = (a, b) => {\n  // why\n  return a + b; // end\n};\n\n\nf(1, 2);",
            "const f=(a,b)=>{return a+b};f(1,2);",
        );
        gives("f(\n  a,\n  b /* c */,\n)", "f(a,b)");
        gives("return typeof x in y", "return typeof x in y");
        gives("const größe = 1; async function* f() {}", "const größe=1;async function*f(){}");
    }

    #[test]
    fn one_name_before_an_arrow_needs_no_parentheses() {
        gives("f((größe) => größe, () => 1, (a, b) => a)", "f(größe=>größe,()=>1,(a,b)=>a)");
        gives("async (a) => a; ({ a }) => a; (a = 1) => a; ([a]) => a", "async(a)=>a;({a})=>a;(a=1)=>a;([a])=>a");
        gives("(a) >= b; (a) > b; f = (...a) => a; (a, ) => b", "(a)>=b;(a)>b;f=(...a)=>a;a=>b");
    }

    #[test]
    fn marks_that_would_become_another_stay_apart() {
        gives("a + +b - -c + ++d - --e", "a+ +b- -c+ ++d- --e");
        gives("a++ + b", "a++ +b");
        gives("a ? .5 : 1 .x", "a? .5:1 .x");
        gives("a / /b/.c; x < !--y", "a/ /b/.c;x< !--y");
        gives("/x/ in y; /x/g in y", "/x/ in y;/x/g in y");
    }

    #[test]
    fn the_end_of_a_line_that_may_end_a_statement_stays() {
        gives("let a = b\n(c)", "let a=b\n(c)");
        gives("return\n{ a }", "return\n{a}");
        gives("a\n++b", "a\n++b");
        gives("const f = function () {}\n[1].x", "const f=function(){}\n[1].x");
        gives("a /* b\n */ c", "a\nc");
        gives("a\n  .b()\n  ?.c", "a\n.b()?.c");
        gives("x =\n  y ?\n  1\n  : 2", "x=y?1:2");
    }

    #[test]
    fn a_comma_or_semicolon_before_an_end_goes_if_it_means_nothing() {
        gives("({ a, b, }); f(a,)", "({a,b});f(a)");
        gives("[a, , ]", "[a,,]");
        gives("{ a(); } { return \"b\"; } { c[0]; }", "{a()}{return\"b\"}{c[0]}");
        gives("{ if (a); } { for (;;); } { if (a) b; else; }", "{if(a);}{for(;;);}{if(a)b;else;}");
        gives("{ ; } { a: ; } { while (b()); }", "{;}{a:;}{while(b());}");
    }

    #[test]
    fn strings_templates_and_regular_expressions_are_kept_byte_for_byte() {
        gives(r#"a = "// no  \" remark" + '/* \' no  */'"#, r#"a="// no  \" remark"+'/* \' no  */'"#);
        gives(
            "a = `x  ${ b + `y  ${ { c: 1 } . c }  // z` }\n  \\` $ { } `;",
            "a=`x  ${b+`y  ${{c:1}. c}  // z`}\n  \\` $ { } `;",
        );
        gives(r#"a = /[/"'`]  \/ \[ "/g.test (b)"#, r#"a=/[/"'`]  \/ \[ "/g.test(b)"#);
        gives("f(/ a  b /u, !/'/ , [/`/])", "f(/ a  b /u,!/'/,[/`/])");
    }

    #[test]
    fn a_slash_divides_or_begins_a_regular_expression_by_what_is_before_it() {
        gives("a = (b) / 2 / c; d = \"/  /\"", "a=(b)/2/c;d=\"/  /\"");
        gives("if (a) /'  /.test(b)", "if(a)/'  /.test(b)");
        gives("while (f(a)) /\"  /.test(b)", "while(f(a))/\"  /.test(b)");
        gives("a.if (b) / 2 / '  '", "a.if(b)/2/'  '");
        gives("return /'  /", "return/'  /");
        gives("a.return / 2 / '  '", "a.return/2/'  '");
        gives("a[0] / `  ` / 2", "a[0]/`  `/2");
        gives("[...typeof /'  /]", "[...typeof/'  /]");
    }

    #[test]
    fn a_module_that_is_not_understood_is_left_as_it_is() {
        for unsure in
            ["} /a/", "{} /a/", "a++ /b/ c", "of /a/ b", "await (a) /b/", "1. /a/ 2", "await /a/", "yield /a/"]
        {
            assert_eq!(delivered(unsure), None, "{unsure}");
        }
        for broken in
            ["\"a", "'a\n'", "`a", "`a ${b", "/* a", "/a\n/", "a = /[/", "(", "`${)`", "a \r b", "a \u{2028}", "\"\\"]
        {
            assert_eq!(delivered(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn what_is_delivered_is_delivered_again_as_it_is() {
        for asset in crate::shell::assets().iter().filter(|asset| asset.path.ends_with(".js")) {
            let once = std::str::from_utf8(&asset.bytes).unwrap();
            if asset.path != "/web/vendor.js" {
                assert_eq!(delivered(once).as_deref(), Some(once), "{}", asset.path);
            }
        }
    }
}
