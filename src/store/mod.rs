//! The one door to the disk: atomic read-modify-write under a cross-process lock; the clock and ids behind it.

mod clock;

pub use clock::Clock;
