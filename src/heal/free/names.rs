//! How alike two names are, for people. Pure.

use std::collections::BTreeSet;

/// Words that say the same on a control.
const SAME: &[&[&str]] = &[
    &["begin", "start", "launch"],
    &["signin", "login", "logon"],
    &["signup", "register"],
    &["signout", "logout", "logoff"],
    &["submit", "send"],
    &["save", "store"],
    &["delete", "remove"],
    &["next", "continue", "proceed"],
    &["previous", "back"],
    &["search", "find", "lookup"],
    &["edit", "change", "modify"],
    &["cart", "basket", "bag"],
    &["mail", "email"],
    &["phone", "telephone"],
    &["close", "dismiss"],
    &["buy", "purchase"],
    &["settings", "preferences"],
    &["username", "user"],
    &["picture", "image", "photo"],
    &["create", "new"],
    &["confirm", "ok"],
    &["refresh", "reload"],
    &["details", "more"],
    &["pay", "checkout"],
];

/// Words of which one must never become the other.
const OPPOSITE: &[(&str, &str)] = &[
    ("enable", "disable"),
    ("show", "hide"),
    ("open", "close"),
    ("accept", "reject"),
    ("accept", "decline"),
    ("approve", "reject"),
    ("on", "off"),
    ("lock", "unlock"),
    ("follow", "unfollow"),
    ("subscribe", "unsubscribe"),
    ("add", "delete"),
    ("confirm", "cancel"),
    ("yes", "no"),
    ("next", "previous"),
    ("first", "last"),
    ("up", "down"),
    ("left", "right"),
    ("min", "max"),
    ("from", "to"),
    ("start", "stop"),
    ("begin", "end"),
    ("begin", "stop"),
    ("signin", "signout"),
    ("signin", "signup"),
    ("import", "export"),
    ("upload", "download"),
    ("old", "new"),
    ("old", "create"),
    ("public", "private"),
    ("billing", "shipping"),
    ("home", "work"),
    ("increase", "decrease"),
    ("expand", "collapse"),
    ("select", "deselect"),
    ("check", "uncheck"),
    ("pin", "unpin"),
    ("mute", "unmute"),
    ("archive", "unarchive"),
    ("save", "discard"),
    ("day", "night"),
    ("monthly", "yearly"),
    ("buy", "sell"),
    ("incoming", "outgoing"),
    ("active", "inactive"),
    ("with", "without"),
    ("password", "username"),
    ("firstname", "lastname"),
    ("pay", "cancel"),
    ("all", "none"),
    ("undo", "redo"),
];

/// Words without a meaning of their own in a name.
const EMPTY: &[&str] = &["the", "a", "an", "your", "my", "please", "of", "this", "now", "here", "enter", "type"];

/// Phrases that are one word.
const PHRASES: &[(&str, &str)] = &[
    ("sign in", "signin"),
    ("log in", "login"),
    ("sign up", "signup"),
    ("sign out", "signout"),
    ("log out", "logout"),
    ("log off", "logoff"),
    ("e mail", "email"),
    ("check out", "checkout"),
    ("look up", "lookup"),
    ("first name", "firstname"),
    ("last name", "lastname"),
    ("user name", "username"),
    ("create account", "signup"),
    ("create an account", "signup"),
    ("set up", "setup"),
];

/// How alike two names are, from 0 to 1: 1 when they hold the same words, or words that say the same.
#[must_use]
pub fn similarity(old: &str, new: &str) -> f64 {
    let (mut a, mut b) = (meaning(old), meaning(new));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    // What is counted or numbered must agree.
    let numbers = |words: &[String]| {
        words.iter().filter(|word| word.chars().any(|c| c.is_ascii_digit())).cloned().collect::<BTreeSet<_>>()
    };
    if numbers(&a) != numbers(&b) {
        return 0.0;
    }
    if a.join("") == b.join("") {
        return 1.0;
    }
    let total = a.len() + b.len();
    let mut same = 0.0;
    a.retain(|word| {
        let equal = b.iter().position(|other| other == word);
        if let Some(at) = equal {
            b.remove(at);
            same += 2.0;
        }
        equal.is_none()
    });
    a.retain(|word| {
        // A slip of the pen, or another form of the word.
        let near = b.iter().position(|other| word.chars().count() > 4 && nearly(word, other));
        if let Some(at) = near {
            b.remove(at);
            same += 1.8;
        }
        near.is_none()
    });
    if a.iter().any(|x| b.iter().any(|y| opposes(x, y)))
        || a.iter().chain(&b).any(|word| matches!(word.as_str(), "not" | "no" | "without" | "never" | "undo"))
    {
        return 0.0;
    }
    same / total as f64
}

/// Whether a name says another thing than the old one, whoever says that they are the same: the opposite, another number, or
/// the same word of another thing (`Save order` and `Save draft`). Names without a common word may say the same.
#[must_use]
pub fn is_another(old: &str, new: &str) -> bool {
    let (mut a, mut b) = (meaning(old), meaning(new));
    let numbers = |words: &[String]| {
        words.iter().filter(|word| word.chars().any(|c| c.is_ascii_digit())).cloned().collect::<BTreeSet<_>>()
    };
    if numbers(&a) != numbers(&b) {
        return true;
    }
    let count = a.len();
    a.retain(|word| {
        let near = b.iter().position(|other| other == word || (word.chars().count() > 4 && nearly(word, other)));
        if let Some(at) = near {
            b.remove(at);
        }
        near.is_none()
    });
    let shared = a.len() < count;
    a.iter().any(|x| b.iter().any(|y| opposes(x, y))) || (shared && !a.is_empty() && !b.is_empty())
}

/// Whether one of these words must never become the other.
fn opposes(x: &str, y: &str) -> bool {
    OPPOSITE.iter().any(|(one, two)| {
        let (one, two) = (canonical(one), canonical(two));
        (x == one && y == two) || (x == two && y == one)
    })
}

fn meaning(name: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut before = ' ';
    for letter in name.chars() {
        // An apostrophe joins: `don't`.
        if matches!(letter, '\'' | '’') {
            continue;
        }
        if letter.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.extend(if letter.is_alphanumeric() { letter.to_lowercase().collect::<Vec<_>>() } else { vec![' '] });
        before = letter;
    }
    let mut text = format!(" {} ", spaced.split_whitespace().collect::<Vec<_>>().join(" "));
    for (phrase, word) in PHRASES {
        text = text.replace(&format!(" {phrase} "), &format!(" {word} "));
    }
    let all: Vec<String> = text.split_whitespace().map(canonical).collect();
    let full: Vec<String> = all.iter().filter(|word| !EMPTY.contains(&word.as_str())).cloned().collect();
    if full.is_empty() { all } else { full }
}

/// The word that stands for all that say the same.
fn canonical(word: &str) -> String {
    let group = |word: &str| {
        SAME.iter().find(|group| group.contains(&word)).and_then(|group| group.first()).map(|first| (*first).to_owned())
    };
    if let Some(first) = group(word) {
        return first;
    }
    let singular = word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s')).unwrap_or(word);
    group(singular).unwrap_or_else(|| singular.to_owned())
}

/// At most one letter differs, or one is the beginning of the other with a common ending.
fn nearly(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.first() != b.first() || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let front = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    front + back + 1 >= a.len().max(b.len())
}

/// Whether elements of this role are pressed.
pub(super) fn is_control(role: &str) -> bool {
    matches!(
        role,
        "button"
            | "link"
            | "tab"
            | "menuitem"
            | "option"
            | "checkbox"
            | "radio"
            | "switch"
            | "menuitemcheckbox"
            | "menuitemradio"
            | "treeitem"
    )
}

const HINTS: &[(&[&str], &[&str])] = &[
    (&["btn", "button", "submit"], &["button"]),
    (&["link", "anchor"], &["link"]),
    (&["input", "field", "textbox", "textarea"], &["textbox", "searchbox", "spinbutton", "combobox"]),
    (&["select", "dropdown", "combobox"], &["combobox", "listbox"]),
    (&["checkbox", "check"], &["checkbox", "switch"]),
    (&["radio"], &["radio"]),
    (&["tab"], &["tab"]),
    (&["toggle", "switch"], &["switch", "checkbox", "button"]),
];

/// The roles that a test id or a CSS path speaks of.
pub(super) fn role_hint(id: &str) -> Option<&'static [&'static str]> {
    let words = split(id);
    HINTS.iter().find(|(hints, _)| words.iter().any(|word| hints.contains(&word.as_str()))).map(|(_, roles)| *roles)
}

/// Words of an id that say nothing of what it is for.
const GENERIC: &[&str] = &[
    "btn",
    "button",
    "input",
    "field",
    "textbox",
    "link",
    "el",
    "id",
    "test",
    "testid",
    "data",
    "qa",
    "cy",
    "container",
    "wrapper",
    "main",
    "primary",
    "secondary",
    "select",
    "dropdown",
    "checkbox",
    "form",
    "page",
    "item",
    "box",
    "control",
    "a",
    "class",
    "type",
    "name",
    "textarea",
    "toggle",
    "tab",
    "radio",
];

/// The words of a test id or a simple CSS path that say what it is; none when it says nothing.
pub(super) fn words_of_id(id: &str) -> Option<String> {
    let complex = id.contains([' ', '>', ':', '*', '~', '+', '/', ',']) || id.contains("nth");
    if complex {
        return None;
    }
    let words: Vec<String> = split(id).into_iter().filter(|word| !GENERIC.contains(&word.as_str())).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn split(id: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in id.chars() {
        let starts = letter.is_uppercase() && before.is_lowercase();
        if !letter.is_alphanumeric() || starts {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_in_other_words_is_alike() {
        for (old, new) in [
            ("Begin", "Start"),
            ("Sign in", "Log in"),
            ("Your e-mail", "Your mail"),
            ("Add to cart", "Add to basket"),
            ("Create order", "Create new order"),
            ("Search", "Search…"),
            ("Continue to payment", "Proceed to payment"),
            ("Save changes", "Save the changes"),
            ("Adress", "Address"),
            ("First name", "Firstname"),
        ] {
            assert!(similarity(old, new) >= 0.75, "{old} {new} {}", similarity(old, new));
        }
    }

    #[test]
    fn another_thing_is_not() {
        for (old, new) in [
            ("Save", "Cancel"),
            ("Enable two-factor login", "Disable two-factor login"),
            ("Add to cart", "Remove from cart"),
            ("Item 1", "Item 2"),
            ("Save", "Save draft"),
            ("Next", "Continue shopping"),
            ("Sign in", "Sign up"),
            ("Archive this order", "Unarchive this order"),
            ("Order list", "Customer list"),
            ("Accept", "Decline"),
            ("Show the details", "Hide the details"),
            ("Delete", "Archive"),
            ("Price", "Prices without tax"),
            ("Accept cookies", "Do not accept cookies"),
            ("Billing address", "Shipping address"),
            ("Buy", "Sell"),
        ] {
            assert!(similarity(old, new) < 0.75, "{old} {new} {}", similarity(old, new));
        }
    }

    #[test]
    fn what_names_another_thing_is_told_from_what_may_be_the_same() {
        for (old, new) in [
            ("Shipping address", "Billing address"),
            ("Save order", "Save draft"),
            ("Remove item 1", "Remove item 2"),
            ("Enable two-factor login", "Disable two-factor login"),
            ("Accept", "Decline"),
        ] {
            assert!(is_another(old, new), "{old} {new}");
        }
        for (old, new) in [
            ("Publish", "Go live"),
            ("Invite people", "Add colleagues"),
            ("Create order", "Create new order"),
            ("Save adress", "Save address"),
            ("Add to cart", "Add to basket"),
            ("Begin", "Start"),
        ] {
            assert!(!is_another(old, new), "{old} {new}");
        }
    }

    #[test]
    fn an_id_says_its_words_and_its_role() {
        assert_eq!(words_of_id("checkoutButton").as_deref(), Some("checkout"));
        assert_eq!(words_of_id("#save-order-btn").as_deref(), Some("save order"));
        assert_eq!(words_of_id("div > span:nth-child(2)"), None);
        assert_eq!(words_of_id("btn"), None);
        assert_eq!(role_hint("save-btn"), Some(&["button"][..]));
    }
}
