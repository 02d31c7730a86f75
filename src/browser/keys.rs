//! Keys by the names that the web gives them (UI Events `key` values): `Enter`, `ArrowDown`, `a`, `Control+Shift+K`.

/// A key with the modifiers that are held meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chord {
    /// Modifiers in the order they are pressed.
    pub held: Vec<Key>,
    /// The key itself.
    pub key: Key,
}

/// One key, as `Input.dispatchKeyEvent` wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// UI Events `key`.
    pub key: String,
    /// UI Events `code`: the place on a US keyboard; empty when there is none.
    pub code: String,
    /// Windows virtual key code; 0 when there is none.
    pub number: u32,
    /// The text that it types.
    pub text: Option<String>,
}

/// Keys that type nothing: name, virtual key code.
const NAMED: &[(&str, u32)] = &[
    ("Escape", 27),
    ("Tab", 9),
    ("Backspace", 8),
    ("Delete", 46),
    ("Insert", 45),
    ("Home", 36),
    ("End", 35),
    ("PageUp", 33),
    ("PageDown", 34),
    ("ArrowLeft", 37),
    ("ArrowUp", 38),
    ("ArrowRight", 39),
    ("ArrowDown", 40),
    ("ContextMenu", 93),
    ("CapsLock", 20),
    ("Pause", 19),
    ("PrintScreen", 44),
    ("ScrollLock", 145),
    ("NumLock", 144),
];

/// Modifiers: name, virtual key code, bit of `Input.dispatchKeyEvent`.
const MODIFIERS: &[(&str, u32, u32)] = &[("Alt", 18, 1), ("Control", 17, 2), ("Meta", 91, 4), ("Shift", 16, 8)];

/// Characters that are not letters or digits: character, with Shift, `code`, virtual key code (US keyboard).
const SIGNS: &[(char, char, &str, u32)] = &[
    ('-', '_', "Minus", 189),
    ('=', '+', "Equal", 187),
    ('[', '{', "BracketLeft", 219),
    (']', '}', "BracketRight", 221),
    ('\\', '|', "Backslash", 220),
    (';', ':', "Semicolon", 186),
    ('\'', '"', "Quote", 222),
    ('`', '~', "Backquote", 192),
    (',', '<', "Comma", 188),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
];

const SHIFTED_DIGITS: &str = ")!@#$%^&*(";

impl Chord {
    /// The Enter key alone.
    #[must_use]
    pub fn enter() -> Self {
        Self { held: Vec::new(), key: typing("Enter", "Enter", 13, "\r") }
    }

    /// The Escape key alone.
    #[must_use]
    pub fn escape() -> Self {
        Self { held: Vec::new(), key: silent("Escape", 27) }
    }

    /// Reads a key by its name.
    ///
    /// # Errors
    /// What is not known, for people.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts: Vec<&str> = text.split('+').collect();
        // A plus may be the key itself: `+`, `Control++`.
        if text == "+" || text.ends_with("++") {
            parts.truncate(parts.len().saturating_sub(2));
            parts.push("+");
        }
        let name = parts.pop().filter(|name| !name.is_empty()).ok_or_else(|| format!("`{text}` names no key"))?;
        let mut held = Vec::new();
        for part in parts {
            held.push(modifier(part).ok_or_else(|| format!("`{part}` in `{text}` is no modifier"))?);
        }
        let mut key = single(name).ok_or_else(|| format!("there is no key named `{name}`"))?;
        let is_held = |name: &str| held.iter().any(|key| key.key == name);
        if is_held("Shift") && key.key.chars().count() == 1 {
            key.key = shifted(&key.key);
            key.text = key.text.map(|text| shifted(&text));
        }
        // A chord is a command, it types nothing.
        if is_held("Control") || is_held("Meta") || is_held("Alt") {
            key.text = None;
        }
        Ok(Self { held, key })
    }

    /// The bits of the modifiers that are held.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.held.iter().map(Key::bit).sum()
    }
}

impl Key {
    /// Its bit, when it is a modifier.
    #[must_use]
    pub fn bit(&self) -> u32 {
        MODIFIERS.iter().find(|(name, ..)| *name == self.key).map_or(0, |(.., bit)| *bit)
    }
}

fn modifier(name: &str) -> Option<Key> {
    let name = match name {
        "Ctrl" | "ControlOrMeta" => "Control",
        "Cmd" | "Command" => "Meta",
        "Option" => "Alt",
        other => other,
    };
    let (name, number, _) = MODIFIERS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
    Some(Key { key: (*name).to_owned(), code: format!("{name}Left"), number: *number, text: None })
}

fn typing(key: &str, code: &str, number: u32, text: &str) -> Key {
    Key { key: key.to_owned(), code: code.to_owned(), number, text: Some(text.to_owned()) }
}

fn silent(name: &str, number: u32) -> Key {
    Key { key: name.to_owned(), code: name.to_owned(), number, text: None }
}

fn single(name: &str) -> Option<Key> {
    match name {
        "Enter" | "Return" => return Some(Chord::enter().key),
        "Esc" => return Some(Chord::escape().key),
        "Space" | " " => return Some(typing(" ", "Space", 32, " ")),
        _ => {}
    }
    if let Some((named, number)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some(silent(named, *number));
    }
    if let Some(modifier) = modifier(name) {
        return Some(modifier);
    }
    let function = name.strip_prefix('F').and_then(|number| number.parse::<u32>().ok());
    if let Some(number) = function.filter(|number| (1..=24).contains(number)) {
        return Some(silent(name, 111 + number));
    }
    let mut characters = name.chars();
    let (Some(character), None) = (characters.next(), characters.next()) else { return None };
    if character.is_ascii_alphabetic() {
        let upper = character.to_ascii_uppercase();
        return Some(typing(name, &format!("Key{upper}"), u32::from(upper), name));
    }
    let shifted_digit =
        || (0..).zip(SHIFTED_DIGITS.chars()).find(|(_, sign)| *sign == character).map(|(digit, _)| digit);
    if let Some(digit) = character.to_digit(10).or_else(shifted_digit) {
        return Some(typing(name, &format!("Digit{digit}"), 48 + digit, name));
    }
    let sign = SIGNS.iter().find(|(plain, shifted, ..)| [*plain, *shifted].contains(&character));
    if let Some((.., code, number)) = sign {
        return Some(typing(name, code, *number, name));
    }
    (!character.is_control()).then(|| typing(name, "", 0, name))
}

fn shifted(text: &str) -> String {
    text.chars()
        .map(|character| match character.to_digit(10).filter(|_| character.is_ascii_digit()) {
            Some(digit) => SHIFTED_DIGITS.chars().nth(digit as usize).unwrap_or(character),
            None => SIGNS
                .iter()
                .find(|(plain, ..)| *plain == character)
                .map_or_else(|| character.to_ascii_uppercase(), |(_, shifted, ..)| *shifted),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Vec<String>, String, String, u32, Option<String>) {
        let chord = Chord::parse(text).unwrap();
        let Key { key, code, number, text } = chord.key;
        (chord.held.into_iter().map(|key| key.key).collect(), key, code, number, text)
    }

    #[test]
    fn keys_have_the_names_of_the_web() {
        assert_eq!(parsed("Enter"), (vec![], "Enter".into(), "Enter".into(), 13, Some("\r".into())));
        assert_eq!(parsed("ArrowDown"), (vec![], "ArrowDown".into(), "ArrowDown".into(), 40, None));
        assert_eq!(parsed("a"), (vec![], "a".into(), "KeyA".into(), 65, Some("a".into())));
        assert_eq!(parsed("F5"), (vec![], "F5".into(), "F5".into(), 116, None));
        assert_eq!(parsed("ü").4, Some("ü".into()));
    }

    #[test]
    fn modifiers_are_held_and_a_command_types_nothing() {
        assert_eq!(parsed("Control+k"), (vec!["Control".into()], "k".into(), "KeyK".into(), 75, None));
        assert_eq!(parsed("Shift+Tab"), (vec!["Shift".into()], "Tab".into(), "Tab".into(), 9, None));
        assert_eq!(parsed("Shift+2").4, Some("@".into()));
        assert_eq!(parsed("Shift+a").4, Some("A".into()));
        assert_eq!(parsed("Control++").1, "+");
        assert_eq!(Chord::parse("Control+Shift+K").unwrap().bits(), 10);
    }

    #[test]
    fn what_is_no_key_is_told() {
        for bad in ["", "Entr", "Hyper+a", "Control+", "F99"] {
            assert!(Chord::parse(bad).is_err(), "{bad}");
        }
    }
}
