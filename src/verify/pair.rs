//! Which bugs of two runs are the same one (seed 000): by V2 where both have it, else by the legacy key. Pure.

use crate::maze::Bug;

/// Whether two bugs are the same one.
#[must_use]
pub fn same(one: &Bug, other: &Bug) -> bool {
    match (&one.fingerprint_v2, &other.fingerprint_v2) {
        (Some(one), Some(other)) => one == other,
        _ => one.fingerprint.is_some() && one.fingerprint == other.fingerprint,
    }
}

/// Whether a key that a person typed names this bug: any of its fingerprints, or the beginning of one.
#[must_use]
pub fn matches_key(bug: &Bug, key: &str) -> bool {
    let key = key.trim().to_ascii_lowercase();
    [&bug.fingerprint_v2, &bug.fingerprint, &bug.fingerprint_v3].into_iter().flatten().any(|known| {
        let known = known.to_ascii_lowercase();
        known == key || (!key.is_empty() && known.starts_with(&key))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bug(v1: Option<&str>, v2: Option<&str>) -> Bug {
        let mut bug: Bug = serde_json::from_str(r#"{"severity":"major","description":"d"}"#).unwrap();
        bug.fingerprint = v1.map(str::to_owned);
        bug.fingerprint_v2 = v2.map(str::to_owned);
        bug
    }

    #[test]
    fn two_new_runs_compare_by_v2_and_an_old_one_by_the_legacy_key() {
        assert!(same(&bug(Some("a"), Some("x")), &bug(Some("b"), Some("x"))));
        assert!(!same(&bug(Some("a"), Some("x")), &bug(Some("a"), Some("y"))));
        assert!(same(&bug(Some("a"), None), &bug(Some("a"), Some("y"))));
        assert!(!same(&bug(None, None), &bug(None, None)));
    }

    #[test]
    fn a_bug_is_named_by_a_fingerprint_or_by_its_beginning() {
        let bug = bug(Some("aaaaaaaabbbbbbbb"), Some("1234567890abcdef"));
        for key in ["aaaaaaaabbbbbbbb", "1234567890ABCDEF", "123456", "12"] {
            assert!(matches_key(&bug, key), "{key}");
        }
        assert!(!matches_key(&bug, "") && !matches_key(&bug, " "));
        assert!(!matches_key(&bug, "fffffff"));
    }
}
