//! The digest of some bytes.

use sha2::{Digest, Sha256};

/// SHA-256 in lower-case hex digits.
#[must_use]
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes.as_ref()).iter().fold(String::with_capacity(64), |mut text, byte| {
        text.extend([byte >> 4, byte & 15].into_iter().filter_map(|digit| char::from_digit(digit.into(), 16)));
        text
    })
}
