//! The embedding model behind one trait.
