//! By when, and to whom, something was promised.

/// The words of a date or deadline.
pub fn due(_text: &str) -> Option<String> {
    None
}

/// To whom something was promised.
pub fn to(_text: &str) -> Option<String> {
    None
}
