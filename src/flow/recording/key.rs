//! Under which name a recording is kept. Pure.
//!
//! Not in the key: the model and who acts, this program's version, the size of the window, and the host.

use serde_json::json;
use unicode_normalization::UnicodeNormalization;

use super::entry::{KeyedBy, RecordedFor, SCHEMA};
use crate::store::sha256_hex;

/// Version of the rules by which recordings are replayed.
const POLICY: u32 = 1;

/// A step, as its key sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepKey {
    /// For what.
    pub step: RecordedFor,
    /// Digest of what the agent is told beside the goal.
    pub context_digest: String,
    /// The project, by its name.
    pub project: String,
}

impl StepKey {
    /// The key: 64 hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        let step = &self.step;
        // Sorted by hand: a canonical form without another library.
        let mut parts = vec![
            json!("agent-test"),
            json!(SCHEMA),
            json!(POLICY),
            json!(self.project),
            json!(step.test_id),
            json!(step.target_id),
            json!("act"),
            json!(step.call_index),
            json!(step.instruction_digest),
            json!(step.params_digest),
            json!(self.context_digest),
        ];
        parts.extend(step.agent.as_ref().map(|agent| json!(agent)));
        sha256_hex(serde_json::Value::from(parts).to_string())
    }

    /// What the entry says of its key beside its step.
    #[must_use]
    pub fn keyed_by(&self) -> KeyedBy {
        KeyedBy { schema: SCHEMA.to_owned(), policy: POLICY, context_digest: self.context_digest.clone() }
    }
}

/// An instruction as the key sees it: line ends, form and ends made equal; inner white space stays.
#[must_use]
pub fn instruction(text: &str) -> String {
    text.replace("\r\n", "\n").nfc().collect::<String>().trim().to_owned()
}

/// Digest of a text.
#[must_use]
pub fn digest(text: &str) -> String {
    sha256_hex(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(change: impl FnOnce(&mut StepKey)) -> String {
        let step = RecordedFor {
            test_id: "flows/a.yaml".into(),
            instruction_digest: digest("do it"),
            ..RecordedFor::default()
        };
        let mut key = StepKey { step, context_digest: String::new(), project: "p".into() };
        change(&mut key);
        key.digest()
    }

    #[test]
    fn each_part_makes_another_key_and_the_words_for_people_do_not() {
        let all = [
            key(|_| {}),
            key(|key| key.step.call_index = 1),
            key(|key| key.step.test_id = "b".into()),
            key(|key| key.step.target_id = "b".into()),
            key(|key| key.step.params_digest = "b".into()),
            key(|key| key.context_digest = "b".into()),
            key(|key| key.step.agent = Some("b".into())),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all.iter().skip(at + 1).all(|other| other != one), "{at}");
        }
        assert_eq!(key(|_| {}), key(|key| key.step.instruction = "for people".into()));
    }

    #[test]
    fn k5_another_version_of_the_program_makes_the_same_key() {
        // Changes when the key's rule does: then every recording of every project is lost, so POLICY must say so.
        assert_eq!(key(|_| {}), "1848bd456fda4313297734664f7d983e0f19d62b354300f542be4ecb707daa2d");
    }

    #[test]
    fn line_ends_and_unicode_forms_do_not_count_and_inner_spaces_do() {
        assert_eq!(instruction(" a\r\nb\u{65}\u{301} "), instruction("a\nb\u{e9}"));
        assert_ne!(instruction("a  b"), instruction("a b"));
    }
}
