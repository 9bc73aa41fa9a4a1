//! Provisional.
use std::ops::Range;
use crate::text::blocks::{Reach as Span, blocks};
use crate::text::plain::plain;
use crate::text::sentences::split;
use crate::text::similarity::Bag;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speaker { Person, Model }
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label { Request, Directive, Decision, Commitment, Remaining, Blocked, Done, Finding, Question, Offer, Assent, Reject, Identity, Remark, Pasted }
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach { Person, Project, Task }
#[derive(Clone, Debug)]
pub struct Statement {
    pub text: String,
    pub label: Label,
    pub second: Option<Label>,
    pub sure: bool,
    pub scope: Option<Reach>,
    pub standalone: bool,
    pub range: Range<usize>,
    pub bullet: bool,
    pub ticked: Option<bool>,
    pub level: usize,
    pub heading: Option<String>,
    pub paragraph: usize,
    pub last_paragraph: bool,
    pub asks: bool,
    pub due: Option<String>,
    pub to: Option<String>,
}
impl Statement { pub fn bag(&self) -> Bag { Bag::of(&self.text) } }

pub fn read(text: &str, speaker: Speaker, _last: bool) -> Vec<Statement> {
    let mut out: Vec<Statement> = Vec::new();
    for block in blocks(text, Span { whole: 24 * 1024, ends: 12 * 1024 }) {
        if block.emphasis { continue; }
        let line = plain(&text[block.range.clone()]);
        for r in split(&line, 1000) {
            let t = line[r].to_owned();
            if !t.chars().any(char::is_alphanumeric) { continue; }
            let asks = t.trim_end_matches(['"', ')', '*', ' ', '!']).ends_with(['?', '？']);
            let low = t.to_lowercase();
            let first = low.split_whitespace().next().unwrap_or("");
            let person = speaker == Speaker::Person;
            let label = if block.pasted || person && (low.contains("error:") || low.contains(" error ") && low.contains(':') || low.starts_with("at ") || low.starts_with('[') || low.starts_with("(node") || low.contains("$ ") || low.contains("% ") ) { Label::Pasted }
                else if person && t.split_whitespace().count() <= 3 && t.is_ascii() && !asks { Label::Assent }
                else if !person && asks && (low.starts_with("want") || low.starts_with("shall") || low.starts_with("would you") || low.starts_with("should i")) { Label::Offer }
                else if asks { Label::Question }
                else if person && ["always","never","don't","do","make","use","only","please"].contains(&first) { Label::Directive }
                else if person { Label::Request }
                else if matches!(block.under, Some(crate::text::headings::Topic::Next | crate::text::headings::Topic::Open)) { Label::Remaining }
                else if matches!(block.under, Some(crate::text::headings::Topic::Done)) || ["fixed","added","created","updated","rewrote","removed","implemented","committed","done","replaced","changed"].contains(&first) { Label::Done }
                else if low.contains("instead of") || low.starts_with("decision") || low.contains("i'll use") || low.contains("let's ") { Label::Decision }
                else if low.contains("because") || low.contains("the issue") || low.contains("root cause") { Label::Finding }
                else if low.starts_with("let me") || low.starts_with("now ") || low.starts_with("i'll ") || t.ends_with(':') { Label::Remark }
                else { Label::Finding };
            let standalone = !(["it","that","this","they","these","those","same"].contains(&first) || low.contains(" that ") && t.len() < 30);
            out.push(Statement { label, second: None, sure: false, scope: None, standalone, range: block.range.clone(), bullet: block.item, ticked: block.ticked, level: 0, heading: None, paragraph: block.paragraph, last_paragraph: false, asks, due: None, to: None, text: t });
        }
    }
    out
}
