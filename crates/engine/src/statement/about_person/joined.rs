//! Divides a sentence with several wishes: "always run the tests, and never push without asking". A part that can be
//! understood alone becomes a statement of its own; a part that depends on its neighbour stays with it.

use super::prose::Token;
use super::{Found, Joint, SignalKind, clauses, has};
use crate::text::patterns::{Words, one_of, words};

/// A wish, which may continue into the next part.
struct Part<S> {
    from: usize,
    to: usize,
    joint: Joint,
    said: S,
}

/// Returns the statements of a clause, in order; empty if the clause cannot be divided.
///
/// `open` removes the lead-ins of the text after a joint, and also returns the frame they give; `None` if no wish
/// begins there.
/// `read` reads one wish.
pub fn wishes<'t, S: Copy>(
    clause: &'t [Token],
    said: S,
    open: impl Fn(&'t [Token]) -> Option<(&'t [Token], S)>,
    read: impl Fn(&'t [Token], S) -> Option<Found<'t>>,
) -> Vec<Found<'t>> {
    let mut parts = vec![Part { from: 0, to: clause.len(), joint: Joint::Start, said }];
    for (at, joint) in clauses(clause).into_iter().skip(1) {
        // Text in brackets belongs to the text before it.
        if clause[..at].last().is_some_and(|t| t.low == "(") || joint == Joint::Colon {
            continue;
        }
        let Some((rest, said)) = open(&clause[at..]) else { continue };
        if let Some(before) = parts.last_mut() {
            before.to = end(&clause[..at]).max(before.from);
        }
        parts.push(Part { from: clause.len() - rest.len(), to: clause.len(), joint, said });
    }
    let mut found = Vec::new();
    let mut parts = parts.into_iter();
    let Some(mut here) = parts.next() else { return found };
    // If the clause as a whole gives no lasting statement, the part before the first joint may still give one.
    let mut first = None;
    for next in parts {
        let (head, tail) = (&clause[here.from..here.to], &clause[next.from..next.to]);
        let alone = stand_alone(head, tail, next.joint);
        let (one, other) = if alone { (read(head, here.said), read(tail, next.said)) } else { (None, None) };
        let (mut one, other) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (one, _) => {
                if first.is_none() && found.is_empty() && here.from == 0 {
                    first = one;
                }
                here.to = next.to;
                continue;
            }
        };
        // "… and never … in this repository" applies to both parts.
        let last = next.to == clause.len() && next.joint != Joint::Break;
        if last && other.kind == SignalKind::Rule && one.kind == SignalKind::Preference {
            one.kind = SignalKind::Rule;
        }
        found.push(one);
        here = next;
    }
    let last = read(&clause[here.from..here.to], here.said);
    if found.is_empty() && last.is_none() {
        return first.into_iter().collect();
    }
    found.extend(last.filter(|_| here.from > 0));
    found
}

/// Returns the end of a statement, without the punctuation and words that join the next one to it.
fn end(tokens: &[Token]) -> usize {
    let joins = words!(", ; : — – - . ! … and but so und aber et mais y pero sowie");
    tokens.iter().rposition(|t| t.quoted || !one_of(t, joins)).map_or(0, |at| at + 1)
}

/// Whether both parts can be understood alone: no "them" that refers back, no condition that may apply to both.
fn stand_alone(head: &[Token], tail: &[Token], joint: Joint) -> bool {
    let back = words!(
        "it them they its their theirs that one ones either neither too otherwise instead there \
        likewise same so es ihn ihm ihnen ihre deren dessen diese dieser dieses das dabei davon damit darin dazu dafür \
        daran stattdessen sonst ebenso auch cela ça lui leur eso ello"
    );
    let conditional = words!("when whenever if before after unless once until while wenn falls sobald bevor nachdem");
    if has(tail, back) || head.first().is_some_and(|t| one_of(t, conditional)) {
        return false;
    }
    let (no, other_no) = (refuses(head), refuses(tail));
    let condition =
        words!("unless except if when until außer ausser wenn falls solange sofern sauf si quand salvo cuando excepto");
    let guard = words!("without before after ohne bevor vor nach sans avant sin antes");
    let guarded = has(tail, condition) || no && has(tail, guard);
    joint == Joint::Break || no != other_no || !guarded
}

fn refuses(tokens: &[Token]) -> bool {
    let no: &Words = words!(
        "never don't dont not no stop hate dislike detest nie niemals nicht kein keine keinen hasse jamais pas nunca \
        odio"
    );
    has(&tokens[..tokens.len().min(6)], no)
}
