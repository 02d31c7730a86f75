//! Digests of bytes.

use sha2::{Digest, Sha256};

/// SHA-256 in lower-case hex digits.
#[must_use]
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes.as_ref()).iter().fold(String::with_capacity(64), |mut text, byte| {
        text.extend([byte >> 4, byte & 15].into_iter().filter_map(|digit| char::from_digit(digit.into(), 16)));
        text
    })
}

/// A digest that tells versions of one file apart at the speed of memory; no protection against somebody who wants two
/// files to look alike. `xxh3:` and 32 hex digits.
#[must_use]
pub fn quick_digest(bytes: impl AsRef<[u8]>) -> String {
    format!("xxh3:{:032x}", xxhash_rust::xxh3::xxh3_128(bytes.as_ref()))
}
