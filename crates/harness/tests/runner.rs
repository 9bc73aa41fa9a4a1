//! One test binary per crate: every file of this folder is a module here.

mod claude_code;
mod codex;
mod hooks;
mod lines;
mod openclaw;
mod opencode;
mod turns;
