//! Sentences with several wishes: the expected statements, and similar sentences that give none.

use super::shown;

const BOTH: &[(&str, &str)] = &[
    (
        "Good. I always prefer small functions, and never use mocks in tests.",
        "preference: I always prefer small functions + preference: Never use mocks in tests",
    ),
    (
        "Good. I always prefer the builder pattern, and never use globals in tests.",
        "preference: I always prefer the builder pattern + preference: Never use globals in tests",
    ),
    (
        "Good. I always prefer fakes, and never mocks in tests.",
        "preference: I always prefer fakes, and never mocks in tests",
    ),
    (
        "Good. I always prefer snake_case, and never camelCase in tests.",
        "preference: I always prefer snake_case, and never camelCase in tests",
    ),
    (
        "Good. I always prefer real databases, and never mock the database in tests.",
        "preference: I always prefer real databases, and never mock the database in tests",
    ),
    (
        "Great, always run the tests before committing and never push without asking.",
        "preference: Always run the tests before committing + preference: Never push without asking",
    ),
    (
        "Always answer in German and never use emojis.",
        "preference: Always answer in German + preference: Never use emojis",
    ),
    (
        "Never push to main, and always ask before deleting files.",
        "preference: Never push to main + preference: Always ask before deleting files",
    ),
    (
        "Thanks, that works. I prefer pnpm over npm; never use yarn.",
        "preference: I prefer pnpm over npm + preference: Never use yarn",
    ),
    (
        "Perfect! Please always use tabs, never use spaces.",
        "preference: Always use tabs + preference: Never use spaces",
    ),
    ("From now on answer briefly and don't use emojis.", "preference: Answer briefly + preference: Don't use emojis"),
    (
        "I like short answers, and I hate emojis in commit messages.",
        "preference: I like short answers + preference: I hate emojis in commit messages",
    ),
    ("Nice work, but never push to main without asking me.", "preference: Never push to main without asking me"),
    (
        "I prefer tabs over spaces, and I never want to see emojis in code.",
        "preference: I prefer tabs over spaces + preference: I never want to see emojis in code",
    ),
    (
        "I never use semicolons, and I always use double quotes.",
        "preference: I never use semicolons + preference: I always use double quotes",
    ),
    ("Stop apologizing and always be concise.", "preference: Stop apologizing + preference: Always be concise"),
    (
        "Don't ever force-push, and always rebase on main.",
        "preference: Don't ever force-push + preference: Always rebase on main",
    ),
    (
        "In this repo always run just ci before committing and never use unwrap.",
        "rule: Always run just ci before committing + rule: Never use unwrap",
    ),
    (
        "Answer in German and don't use emojis from now on.",
        "preference: Answer in German + preference: Don't use emojis",
    ),
    (
        "Remember that I'm vegetarian and never suggest meat.",
        "identity: I'm vegetarian + preference: Never suggest meat",
    ),
    (
        "Always say \"please\", and never use \"you must\".",
        "preference: Always say \"please\" + preference: Never use \"you must\"",
    ),
    (
        "Always write tests first; never push to main; always answer in German.",
        "preference: Always write tests first + preference: Never push to main + preference: Always answer in German",
    ),
    // A part that refers to the current work or names a file does not last; the part before it does.
    ("Always use `pnpm`, and never commit `node_modules`.", "preference: Always use `pnpm`"),
    ("Always answer in German, and don't touch this file.", "preference: Always answer in German"),
    // A part that depends on its neighbour stays with it.
    ("Never commit and never push without asking.", "preference: Never commit and never push without asking"),
    ("Always write tests, and never delete them.", "preference: Always write tests, and never delete them"),
    (
        "When I ask for code, always include tests and never skip docs.",
        "preference: When I ask for code, always include tests and never skip docs",
    ),
    ("Always answer in German (never use English).", "preference: Always answer in German (never use English)"),
    (
        "Always use tabs and never use unwrap in this repo.",
        "rule: Always use tabs + rule: Never use unwrap in this repo",
    ),
    (
        "Always answer in German, but keep code comments in English.",
        "preference: Always answer in German, but keep code comments in English",
    ),
    (
        "Gut. Antworte immer auf Deutsch und verwende nie Emojis.",
        "preference: Antworte immer auf Deutsch + preference: Verwende nie Emojis",
    ),
    ("Super, danke. Verwende immer Tabs und nie Leerzeichen.", "preference: Verwende immer Tabs und nie Leerzeichen"),
    (
        "Ich bevorzuge kurze Antworten, und benutze nie Emojis.",
        "preference: Ich bevorzuge kurze Antworten + preference: Benutze nie Emojis",
    ),
    (
        "Ich bevorzuge Tabs gegenüber Leerzeichen und antworte immer auf Deutsch.",
        "preference: Ich bevorzuge Tabs gegenüber Leerzeichen + preference: Antworte immer auf Deutsch",
    ),
    (
        "Schreib immer Tests, aber pushe nie auf main.",
        "preference: Schreib immer Tests + preference: Pushe nie auf main",
    ),
    (
        "Bitte antworte immer kurz; committe nie ohne zu fragen.",
        "preference: Antworte immer kurz + preference: Committe nie ohne zu fragen",
    ),
    (
        "Gut gemacht. Ich bevorzuge grundsätzlich kleine Funktionen, und nie Mocks in Tests.",
        "preference: Ich bevorzuge grundsätzlich kleine Funktionen, und nie Mocks in Tests",
    ),
    (
        "Nie auf main pushen, und immer vorher fragen.",
        "preference: Nie auf main pushen + preference: Immer vorher fragen",
    ),
    (
        "Ab jetzt immer auf Deutsch antworten und keine Emojis verwenden.",
        "preference: Immer auf Deutsch antworten + preference: Keine Emojis verwenden",
    ),
    ("Committe nie und pushe nie ohne zu fragen.", "preference: Committe nie und pushe nie ohne zu fragen"),
];

const NEITHER: &[&str] = &[
    "He always prefers tabs, and never uses spaces.",
    "He always prefers tabs, and I never said otherwise.",
    "I never said I prefer tabs, and I never said always use spaces.",
    "\"I always prefer tabs, and never use spaces\" is what the guide says.",
    "Should I always use tabs, and never use spaces?",
    "Do you always prefer tabs and never use spaces?",
    "If I always prefer tabs, and never use spaces, what breaks?",
    "The docs say: always use tabs, and never use spaces.",
    "She told me to always answer in German and never use emojis.",
    "According to the README, always run the tests and never push to main.",
    "The server always answers and never sleeps.",
    "The linter always complains, and never stops.",
    "Maybe always use tabs and never use spaces.",
    "Imagine I always prefer tabs, and never use spaces.",
    "I don't always prefer tabs, and never did.",
    "I never wrote that, and I always push to my branch.",
    "You always answer in English, and never in German.",
    "We always deploy on Friday and never test.",
    "Write a function that always returns 1, and never use recursion there.",
    "Good. That always works, and never fails.",
    "My colleague always prefers mocks, and never writes integration tests.",
    "I always knew it, and never said so.",
    "Suppose we never push to main, and always squash.",
    "I generally prefer the second one, and never the first.",
    "I usually prefer the version you wrote, and never the old one.",
    "I always prefer this one, and never that one.",
    "```\nAlways answer in German, and never use emojis.\n```",
    "> I always prefer tabs, and never use spaces.",
    "error: always use tabs, and never use spaces",
    "Er bevorzugt immer Tabs, und benutzt nie Leerzeichen.",
    "Ich habe nie gesagt, dass ich Tabs bevorzuge, und nie Emojis verwendet.",
    "Soll ich immer auf Deutsch antworten und nie Emojis verwenden?",
    "Der Server antwortet immer und schläft nie.",
    "Mein Kollege sagt, antworte immer auf Deutsch und verwende nie Emojis.",
    "Wenn ich immer Tabs nehme und nie Leerzeichen, was passiert dann?",
    "\"Antworte immer auf Deutsch und verwende nie Emojis\" steht im Prompt.",
    "Vielleicht immer Tabs nehmen und nie Leerzeichen.",
    "Laut README immer testen und nie auf main pushen.",
    "Warum antwortest du immer auf Englisch und nie auf Deutsch?",
    "Das geht immer schief und nie gut.",
];

#[test]
fn each_wish_of_a_sentence_is_a_statement() {
    let wrong: Vec<_> = BOTH.iter().map(|(p, e)| (p, shown(p), e)).filter(|(_, got, e)| got != *e).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_only_sounds_like_several_wishes_is_none() {
    let wrong: Vec<_> = NEITHER.iter().map(|p| (p, shown(p))).filter(|(_, got)| !got.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_has_its_own_words() {
    let prompt = "Good. I always prefer small functions, and never use “mocks”.";
    let texts: Vec<_> = super::signals(prompt).into_iter().map(|s| (prompt[s.range] == s.text, s.text)).collect();
    assert_eq!(texts, [(true, "I always prefer small functions".to_owned()), (true, "never use “mocks”".to_owned())]);
}

#[test]
fn quoted_or_pasted_they_are_nobodys() {
    for (statement, _) in BOTH.iter().filter(|(s, _)| !s.contains('"')) {
        for text in [format!("```\n{statement}\n```"), format!("> {statement}"), format!("<note>{statement}</note>")] {
            assert_eq!(shown(&text), "", "{text}");
        }
    }
}
