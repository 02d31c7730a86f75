//! How a replay finds what it acts on.
