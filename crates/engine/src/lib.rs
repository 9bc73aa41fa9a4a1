pub mod clock;
pub mod error;
pub mod event;
pub mod home;
pub mod scope;
pub mod source;
