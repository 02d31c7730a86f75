//! Logs a session in: finds the fields by themselves where a page has one password field, or uses the recipe.

use serde_json::Value;
use url::Url;

use super::perform::{Action, Performed, Target, Terms, perform};
use crate::browser::{Chord, Element, Look, Mode, Session, SessionError};
use crate::settings::Login;
use crate::trace::Locator;

/// Who logs in. Lives in memory only; `Debug` shows no secret.
#[derive(Clone)]
pub struct Credentials {
    /// User name.
    pub username: String,
    /// Password.
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(…)")
    }
}

/// How a login ended.
#[derive(Clone, Debug)]
pub enum LoggedIn {
    /// It worked.
    Yes,
    /// The page has no password field: nothing to do.
    NotAsked,
    /// It did not work, and why.
    No(String),
}

/// Whether an address reads like a login page.
#[must_use]
pub fn is_login_address(url: &str) -> bool {
    let path = Url::parse(url)
        .map_or_else(|_| url.to_owned(), |url| format!("{}#{}", url.path(), url.fragment().unwrap_or_default()));
    let path = path.to_ascii_lowercase();
    ["login", "log-in", "signin", "sign-in", "sign_in", "sso", "/auth", "anmelden", "connexion"]
        .iter()
        .any(|word| path.contains(word))
}

/// Logs in on the page that is open.
///
/// # Errors
/// [`SessionError`] when the browser is lost.
pub async fn log_in(
    session: &Session,
    look: &Look,
    recipe: Option<&Login>,
    credentials: &Credentials,
    terms: Terms,
) -> Result<LoggedIn, SessionError> {
    if look.passwords == 0 {
        return Ok(LoggedIn::NotAsked);
    }
    let terms = Terms { mode: Mode::Login, ..terms };
    let by_recipe =
        |locator: Option<&String>| locator.map(|css| Locator { css: Some(css.clone()), ..Locator::default() });
    let fields = find_fields(look);
    let username = by_recipe(recipe.and_then(|recipe| recipe.username_locator.as_ref()))
        .or_else(|| fields.0.map(Element::locator));
    let password = by_recipe(recipe.and_then(|recipe| recipe.password_locator.as_ref()))
        .or_else(|| fields.1.map(Element::locator));
    let submit =
        by_recipe(recipe.and_then(|recipe| recipe.submit_locator.as_ref())).or_else(|| fields.2.map(Element::locator));
    let Some(password) = password else {
        return Ok(LoggedIn::No(format!("no password field was found on {}", look.url)));
    };
    let first = match &username {
        Some(username) => fill(session, username, &credentials.username, terms).await?,
        None => Ok(()),
    };
    if let Err(why) = first {
        return Ok(LoggedIn::No(format!("the user name cannot be filled in: {why}")));
    }
    if let Err(why) = fill(session, &password, &credentials.password, terms).await? {
        return Ok(LoggedIn::No(format!("the password cannot be filled in: {why}")));
    }
    let mark = session.evidence().mark();
    session.set_mode(Mode::Login);
    let pressed = match &submit {
        Some(submit) => {
            matches!(perform(session, &Action::Click, Target::Locator(submit), terms).await?, Performed::Done(_))
        }
        None => false,
    };
    if !pressed {
        session.press_key(&Chord::enter()).await?;
    }
    session.still(mark, terms.cap_ms).await?;
    let after = session.look(terms.nodes).await?;
    if !is_still_login(look, &after) {
        return Ok(LoggedIn::Yes);
    }
    let said = after.toasts.first().map(|toast| format!(": \"{}\"", toast.text)).unwrap_or_default();
    Ok(LoggedIn::No(format!("the login page {} is still shown after the form was sent{said}", after.url)))
}

/// Whether the login page is still shown. Another page may have password fields of its own (changing the password).
fn is_still_login(before: &Look, after: &Look) -> bool {
    let path = |look: &Look| Url::parse(&look.url).map(|url| url.path().to_owned()).unwrap_or_default();
    after.passwords > 0 && (path(before) == path(after) || (after.passwords == 1 && is_login_address(&after.url)))
}

async fn fill(
    session: &Session,
    locator: &Locator,
    text: &str,
    terms: Terms,
) -> Result<Result<(), String>, SessionError> {
    Ok(match perform(session, &Action::Fill(text.to_owned()), Target::Locator(locator), terms).await? {
        Performed::Done(_) => Ok(()),
        Performed::Covered { by, .. } => Err(format!("{} is covered by {by}", locator.describe())),
        Performed::Unreachable => Err(format!("{} cannot be reached", locator.describe())),
        Performed::Refused(why) => Err(format!("{} does not take it: {why}", locator.describe())),
        Performed::Disabled => Err(format!("{} is disabled", locator.describe())),
        Performed::Mismatch(why) => Err(format!("{} is not found ({})", locator.describe(), why.join(", "))),
    })
}

/// User name, password and submit control of a login form: the text field before the first password field, and the first
/// submit control after it.
fn find_fields(look: &Look) -> (Option<&Element>, Option<&Element>, Option<&Element>) {
    let at = look.elements.iter().position(|element| element.input.as_deref() == Some("password"));
    let Some(at) = at else { return (None, None, None) };
    let is_name = |element: &&Element| {
        element.input.as_deref().is_some_and(|kind| matches!(kind, "text" | "email" | "tel" | "search" | "number"))
    };
    let username = look.elements[..at].iter().rev().find(is_name);
    let after = &look.elements[at..];
    let submit = after
        .iter()
        .find(|element| element.submits)
        .or_else(|| after.iter().find(|element| element.role == "button" && !element.icons.contains("eye")));
    (username, look.elements.get(at), submit)
}

/// Keeps the session's secrets out of a text.
#[must_use]
pub fn redact(text: &str, credentials: Option<&Credentials>) -> String {
    match credentials {
        Some(credentials) if credentials.password.len() >= 4 => text.replace(&credentials.password, "(password)"),
        _ => text.to_owned(),
    }
}

/// Same, for any JSON value that goes to the disk.
pub fn redact_value(value: &mut Value, credentials: Option<&Credentials>) {
    match value {
        Value::String(text) => *text = redact(text, credentials),
        Value::Array(list) => list.iter_mut().for_each(|item| redact_value(item, credentials)),
        Value::Object(map) => map.values_mut().for_each(|item| redact_value(item, credentials)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: &str, css: &str) -> Element {
        Element { input: Some(kind.into()), role: "textbox".into(), css: css.into(), ..Element::default() }
    }

    #[test]
    fn the_fields_of_a_login_form_are_found_by_themselves() {
        let submit = Element { submits: true, role: "button".into(), css: "#go".into(), ..Element::default() };
        let look = Look {
            passwords: 1,
            elements: vec![field("search", "#q"), field("text", "#user"), field("password", "#pass"), submit],
            ..Look::default()
        };
        let (username, password, submit) = find_fields(&look);
        let css = |element: Option<&Element>| element.map(|element| element.css.clone());
        assert_eq!(
            (css(username), css(password), css(submit)),
            (Some("#user".into()), Some("#pass".into()), Some("#go".into()))
        );
    }

    #[test]
    fn a_page_to_change_the_password_is_not_the_login_page() {
        let page = |url: &str, passwords| Look { url: url.into(), passwords, ..Look::default() };
        let login = page("http://a.b/login/?next=/password", 1);
        assert!(!is_still_login(&login, &page("http://a.b/password", 3)));
        assert!(!is_still_login(&login, &page("http://a.b/home", 0)));
        assert!(is_still_login(&login, &page("http://a.b/login/", 1)));
        assert!(is_still_login(&page("http://a.b/", 1), &page("http://a.b/login?error=1", 1)));
    }

    #[test]
    fn login_addresses_are_known() {
        for url in ["http://a.b/login", "http://a.b/accounts/login/?next=/x", "http://a.b/#/signin"] {
            assert!(is_login_address(url), "{url}");
        }
        assert!(!is_login_address("http://a.b/blog"));
    }

    #[test]
    fn no_secret_is_left_in_what_is_written() {
        let credentials = Credentials { username: "u".into(), password: "s3cret-pass".into() };
        let mut value = serde_json::json!({ "a": ["x s3cret-pass y", { "b": "s3cret-pass" }] });
        redact_value(&mut value, Some(&credentials));
        assert!(!value.to_string().contains("s3cret-pass"));
        assert!(!format!("{credentials:?}").contains("s3cret"));
    }
}
