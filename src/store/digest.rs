//! Digests: one for files, one that only tells versions apart, and a quick one for tables in memory.

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
/// files to look alike. `xxh3:` and 32 hex digits. The file is given in parts.
#[must_use]
pub fn quick_digest(parts: &[&[u8]]) -> String {
    let mut state = xxhash_rust::xxh3::Xxh3::new();
    for part in parts {
        state.update(part);
    }
    format!("xxh3:{:032x}", state.digest128())
}

/// A quick digest of 64 bits, the same in every process. Good for finding what is perhaps equal; nobody's secret.
#[must_use]
pub fn table_digest(bytes: impl Iterator<Item = u8>) -> u64 {
    const PRIME: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
    let fold = |state: u64, word: u64| {
        let product = u128::from(state ^ word).wrapping_mul(PRIME);
        (product >> 64) as u64 ^ product as u64
    };
    let (mut state, mut word, mut length) = (0x2545_F491_4F6C_DD1D_u64, 0_u64, 0_u64);
    for byte in bytes {
        word = (word << 8) | u64::from(byte);
        length += 1;
        if length.is_multiple_of(8) {
            state = fold(state, word);
            word = 0;
        }
    }
    fold(fold(state, word), length)
}

/// A set of quick digests.
pub type DigestSet = std::collections::HashSet<u64, std::hash::BuildHasherDefault<AsItIs>>;

/// Hashes a quick digest by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsItIs(u64);

impl std::hash::Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = table_digest(bytes.iter().copied());
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_digests_of_many_neighbours_are_distinct() {
        let set: DigestSet = (0..100_000).map(|number| table_digest(format!("/area/{number}").bytes())).collect();
        assert_eq!(set.len(), 100_000);
        assert_ne!(table_digest([].into_iter()), table_digest([0].into_iter()));
        assert_ne!(table_digest([0; 8].into_iter()), table_digest([0; 16].into_iter()));
    }
}
