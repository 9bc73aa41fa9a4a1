//! Identifies scripts, as far as splitting words needs it.

/// A script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Script {
    Han,
    Hiragana,
    Katakana,
    Hangul,
    /// Thai, Lao, Khmer, Burmese: letters with vowels around them, no spaces.
    Vowelled,
    /// A script written with spaces.
    Spaced,
    /// No letter of any script.
    Sign,
}

/// Returns the script a character belongs to.
pub fn script(c: char) -> Script {
    match c as u32 {
        0x3041..=0x309F => Script::Hiragana,
        0x30A0..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => Script::Katakana,
        0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF => Script::Hangul,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF => Script::Vowelled,
        _ if is_unspaced(c) => Script::Han,
        _ if c.is_alphanumeric() || is_mark(c) => Script::Spaced,
        _ => Script::Sign,
    }
}

/// Whether a character belongs to a script without spaces between words (Han, Kana, Thai, Lao, Khmer, Burmese), or to
/// Hangul, whose particles are joined to their words.
pub fn is_unspaced(c: char) -> bool {
    matches!(c as u32,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF | 0x2E80..=0x2FDF | 0x3005..=0x3007
        | 0x3040..=0x30FF | 0x3130..=0x318F | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF
        | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x20000..=0x3FFFF)
}

/// Whether a character is a picture that people write as a word, and not a sign with which programs draw lines and
/// lists.
pub fn is_emoji(c: char) -> bool {
    matches!(c as u32, 0x1F300..=0x1F3FA | 0x1F400..=0x1FAFF | 0x2600..=0x27BF | 0x231A..=0x231B | 0x23E9..=0x23F3 | 0x2B50 | 0x2B55)
}

/// Whether a character is a combining mark, which belongs to its letter (vowel signs of Indic scripts, accents written
/// apart).
pub fn is_mark(c: char) -> bool {
    matches!(c as u32, 0x0300..=0x036F | 0x0900..=0x0DFF | 0x0E31..=0x0E4E | 0x0591..=0x05C7 | 0x064B..=0x065F)
}
