//! The one door to the disk: atomic read-modify-write under a cross-process lock; the clock and ids behind it.

mod clock;
mod text;

pub use clock::Clock;
pub use text::write_text;
