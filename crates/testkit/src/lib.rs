//! A hermetic world for tests: temporary homes, fixtures, fakes. Dev-dependency only.
