//! Which bugs of two runs are the same one (seed 000): by V2 where both have it, else by the legacy key. Pure.

use super::error::VerifyError;
use crate::maze::Bug;
use crate::trace::RunFile;

/// Whether two bugs are the same one.
#[must_use]
pub fn same(one: &Bug, other: &Bug) -> bool {
    match (&one.fingerprint_v2, &other.fingerprint_v2) {
        (Some(one), Some(other)) => one == other,
        _ => one.fingerprint.is_some() && one.fingerprint == other.fingerprint,
    }
}

/// The fingerprints of a bug.
fn keys(bug: &Bug) -> impl Iterator<Item = String> {
    [&bug.fingerprint_v2, &bug.fingerprint, &bug.fingerprint_v3]
        .into_iter()
        .flatten()
        .map(|key| key.to_ascii_lowercase())
}

/// Whether a key that a person typed names this bug: any of its fingerprints, or the beginning of one.
#[must_use]
pub fn matches_key(bug: &Bug, key: &str) -> bool {
    let key = key.trim().to_ascii_lowercase();
    !key.is_empty() && keys(bug).any(|known| known.starts_with(&key))
}

/// The bugs of a run that these keys name, each once; all of them when there is no key.
///
/// # Errors
/// [`VerifyError::UnknownBug`]; [`VerifyError::AmbiguousBug`] for the beginning of several fingerprints.
pub fn chosen(run: &RunFile, wanted: &[String]) -> Result<Vec<Bug>, VerifyError> {
    for key in wanted {
        let found: Vec<&Bug> = run.bugs.iter().filter(|bug| matches_key(bug, key)).collect();
        if found.is_empty() {
            return Err(VerifyError::UnknownBug { key: key.clone(), run: run.id.clone() });
        }
        let exact = found.iter().any(|bug| keys(bug).any(|known| known.eq_ignore_ascii_case(key.trim())));
        let mut known: Vec<String> = found.iter().filter_map(|bug| bug.fingerprint_v2.clone()).collect();
        known.sort();
        known.dedup();
        if !exact && known.len() > 1 {
            return Err(VerifyError::AmbiguousBug { key: key.clone(), run: run.id.clone(), known });
        }
    }
    let is_wanted = |bug: &&Bug| wanted.is_empty() || wanted.iter().any(|key| matches_key(bug, key));
    Ok(run.bugs.iter().filter(is_wanted).cloned().collect())
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
