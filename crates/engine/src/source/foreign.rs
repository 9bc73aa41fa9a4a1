//! A foreign SQLite store.
