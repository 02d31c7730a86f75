//! What a trace may ask for. A run file may come from anywhere: it opens no other place, gives away no file and no variable.
//! Pure.

use std::path::{Component, Path};

use url::Url;

use crate::env::SECRET_PREFIX;

/// Whether an address is of a kind that a browser may be sent to: everything else runs code or reads files.
#[must_use]
pub fn is_of_the_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// Why a step must not open this address: not of the web, or not the application's own.
///
/// # Errors
/// The reason, for people.
pub fn may_open(text: &str, is_own: impl Fn(&Url) -> bool) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("the step opens `{text}`, which is no address: {error}"))?;
    if !is_of_the_web(&url) {
        return Err(format!("the step opens an address of the kind `{}:`, which is never opened", url.scheme()));
    }
    if !is_own(&url) {
        return Err(format!("the step opens {}, which is not the application", url.origin().ascii_serialization()));
    }
    Ok(url)
}

/// The files of an upload (a path, or several as a JSON list), each below the project.
///
/// # Errors
/// The reason, for people.
pub fn may_upload(value: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = serde_json::from_str(value).unwrap_or_else(|_| vec![value.to_owned()]);
    for name in &names {
        let is_below =
            Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_below || name.is_empty() {
            return Err(format!("the step uploads `{name}`, which does not lie below the project"));
        }
    }
    Ok(names)
}

/// Whether a trace may type what this variable holds: the login's, and those that are named as secrets of tests.
///
/// # Errors
/// The reason, for people.
pub fn may_type(name: &str, login: &[&str]) -> Result<(), String> {
    if login.contains(&name) || (name.starts_with(SECRET_PREFIX) && name.len() > SECRET_PREFIX.len()) {
        return Ok(());
    }
    Err(format!(
        "the step types the environment variable {name}; only those of the login and those that begin with {SECRET_PREFIX} are given to a page"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_applications_own_web_addresses_are_opened() {
        let own = |url: &Url| url.host_str() == Some("a.b");
        assert!(may_open("http://a.b/x", own).is_ok());
        for bad in
            ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "http://other/", "//a.b/x", "about:blank"]
        {
            assert!(may_open(bad, own).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_files_below_the_project_are_uploaded() {
        assert_eq!(may_upload(r#"["a.txt", "d/b.txt"]"#).unwrap(), ["a.txt", "d/b.txt"]);
        assert_eq!(may_upload("a b.txt").unwrap(), ["a b.txt"]);
        for bad in ["/etc/passwd", "../x", "a/../../x", "", r#"["a", "/b"]"#] {
            assert!(may_upload(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_logins_variables_and_named_secrets_are_typed() {
        assert!(may_type("AGENT_TEST_SECRET_PIN", &[]).is_ok());
        assert!(may_type("MY_USER", &["MY_USER"]).is_ok());
        for bad in ["OPENAI_API_KEY", "HOME", "PATH", "AGENT_TEST_SECRET_", "AGENT_TEST_WEBDRIVER"] {
            assert!(may_type(bad, &["MY_USER"]).is_err(), "{bad}");
        }
    }
}
