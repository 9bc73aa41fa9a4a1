//! Reads strong signals in Japanese and Chinese: a few plain forms, recognised by how a sentence begins and ends,
//! because there are no spaces between words.

use super::prose::Sentence;
use super::{Found, SignalKind};
use crate::text::scripts::is_unspaced;

/// Polite or filling words at the beginning.
const LEADS: &[&str] =
    &["请记住", "記住", "记住", "请", "請", "麻烦", "あと", "それと", "ちなみに", "，", "、", ",", "：", ":", " "];
/// Beginnings that make a directive last beyond the current work.
const STANDING: &[&str] = &[
    "以后",
    "以後",
    "今后",
    "从现在开始",
    "從現在開始",
    "从现在起",
    "从今以后",
    "总是",
    "總是",
    "始终",
    "始終",
    "一律",
    "永远不要",
    "永遠不要",
    "永远",
    "今後は",
    "今後",
    "これからは",
    "これから",
    "以降は",
    "常に",
    "いつも",
    "毎回",
];
const REQUESTS: &[&str] =
    &["ください", "下さい", "お願いします", "ほしい", "ないで", "して", "ように", "こと", "答えて", "書いて"];
const PREFERENCES: &[&str] = &["我更喜欢", "我更喜歡", "我偏好", "我比较喜欢"];
const NAMES: &[&str] = &["我叫", "我的名字是", "我的名字叫", "叫我", "私の名前は", "僕の名前は", "俺の名前は", "私は"];
const PLACES: &[&str] = &["我住在", "我居住在"];
/// Words that refer to the current work, ask, or report.
const AT_HAND: &[&str] = &[
    "这",
    "這",
    "此处",
    "この",
    "これを",
    "その",
    "ここ",
    "吗",
    "嗎",
    "呢",
    "什么",
    "ですか",
    "ますか",
    "如果",
    "もし",
    "と言",
    "说",
];

pub fn read<'t>(prompt: &str, sentence: &'t Sentence) -> Vec<Found<'t>> {
    let text = &prompt[sentence.range.clone()];
    let quoted = sentence.tokens.first().is_none_or(|t| t.quoted);
    if quoted
        || text.is_ascii()
        || !text.chars().any(is_unspaced)
        || text.ends_with(['?', '？'])
        || AT_HAND.iter().any(|w| text.contains(w))
    {
        return Vec::new();
    }
    let text = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    let mut core = text;
    while let Some(rest) = LEADS.iter().find_map(|l| core.strip_prefix(l)) {
        core = rest;
    }
    let one = |kind, confidence| vec![Found { kind, core: &sentence.tokens[..], confidence }];
    if let Some(value) = NAMES.iter().find_map(|n| core.strip_prefix(n).map(|v| (*n, v))).and_then(|(n, v)| name(n, v))
    {
        return one(SignalKind::Profile { key: "name", value }, 0.9);
    }
    if let Some(value) = core.strip_suffix("と呼んでください").and_then(value) {
        return one(SignalKind::Profile { key: "name", value }, 0.9);
    }
    if let Some(value) = PLACES.iter().find_map(|p| core.strip_prefix(p)).and_then(value) {
        return one(SignalKind::Profile { key: "location", value }, 0.85);
    }
    if let Some(value) = core.strip_prefix("私は").and_then(|v| v.strip_suffix("に住んでいます")).and_then(value)
    {
        return one(SignalKind::Profile { key: "location", value }, 0.85);
    }
    let told = ["请记住", "請記住", "记住", "記住"].iter().find_map(|r| text.strip_prefix(r));
    if told.is_some_and(|t| t.chars().count() >= 5) && core.starts_with('我') && !core.contains('了') {
        return one(SignalKind::Identity, 0.85);
    }
    let kana = core.chars().any(|c| matches!(c as u32, 0x3040..=0x30FF));
    let long = core.chars().count() >= 6;
    let begins = STANDING.iter().any(|s| core.starts_with(s));
    // Chinese requests contain words like "请"; "以后会…" describes the future.
    let asks = if kana {
        REQUESTS.iter().any(|r| core.ends_with(r))
    } else {
        text.contains(['请', '請', '用', '别', '別']) || core.contains("不要") || core.contains("回答")
    };
    let prefers = PREFERENCES.iter().any(|p| core.starts_with(p))
        || kana && core.ends_with("方が好きです") && core.starts_with("私は");
    if long && (begins && asks || prefers) { one(SignalKind::Preference, 0.75) } else { Vec::new() }
}

fn name(announced: &str, rest: &str) -> Option<String> {
    let rest = rest.trim_start();
    if announced == "私は" {
        return ["といいます", "と言います", "と申します"].iter().find_map(|e| rest.strip_suffix(e)).and_then(value);
    }
    if announced.ends_with('は') {
        return rest.strip_suffix("です").and_then(value);
    }
    value(rest.split(['，', ',', '、', '。']).next().unwrap_or(rest))
}

/// Returns a short text without punctuation, if it can be a name or a place.
fn value(text: &str) -> Option<String> {
    let text = text.trim();
    // "我叫你…" is a request, not a name.
    if text.starts_with(['你', '您', '他', '她', '它', '别', '不', '做', '去', '来', '把', '大', '什'])
        || text.ends_with(['了', '的', '止', '改'])
    {
        return None;
    }
    let short = (1..=20).contains(&text.chars().count()) && text.chars().filter(|c| is_unspaced(*c)).count() <= 8;
    (short && text.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '·' | '・' | '-' | 'ー')))
        .then(|| text.to_owned())
}
