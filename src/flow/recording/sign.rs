//! Signed recordings, for projects that take branches of strangers: with a key in the environment, only what was written or
//! signed by somebody who has it is played. Pure but for the key.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::entry::{Cost, Entry};
use crate::store::sha256_hex;

/// The key of a project.
#[derive(Clone)]
pub struct Signer(String);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// With this key.
    #[must_use]
    pub fn new(key: String) -> Self {
        Self(key)
    }

    /// The entry with its signature, for this name of the file.
    #[must_use]
    pub fn signed(&self, key: &str, entry: &Entry) -> Entry {
        Entry { signature: self.mac(key, entry), ..entry.clone() }
    }

    /// Whether it bears the signature of this key, under this name.
    #[must_use]
    pub fn knows(&self, key: &str, entry: &Entry) -> bool {
        entry.signature.is_some() && entry.signature == self.mac(key, entry)
    }

    fn mac(&self, key: &str, entry: &Entry) -> Option<String> {
        // Money is no part of what is done, and a decimal fraction may be read back as its neighbour.
        let cost = Cost { usd: None, ..entry.cost.clone() };
        let bare = Entry { signature: None, cost, ..entry.clone() };
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(key.as_bytes());
        mac.update(bare.text().as_bytes());
        Some(sha256_hex(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::recording::fixture::entry;

    #[test]
    fn only_what_was_signed_with_the_key_under_its_name_is_known() {
        let ours = Signer::new("ours".into());
        let signed = ours.signed("a", &entry());
        assert!(ours.knows("a", &signed));
        assert!(!ours.knows("b", &signed), "moved to another step");
        assert!(!ours.knows("a", &Entry { summary: "changed".into(), ..signed.clone() }));
        assert!(!ours.knows("a", &entry()) && !Signer::new("theirs".into()).knows("a", &signed));
        assert!(!ours.knows("a", &Entry { signature: Some("zz".into()), ..signed }));
    }
}
