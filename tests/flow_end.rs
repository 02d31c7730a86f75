//! What proves the end of a replay.
