//! Where the embedding model goes, apart from everything else so that its weight never enters the engine's tests.
//! Nothing is in it yet: search works on words.
