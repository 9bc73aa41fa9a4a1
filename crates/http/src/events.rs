//! Live invalidations.
