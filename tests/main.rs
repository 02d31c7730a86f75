//! One binary of tests that start the built program. One module per feature; each line says what belongs there.

/// The demo application: answers, switches, its list against what it serves, a browser over its pages.
mod demo;
mod sandbox;
