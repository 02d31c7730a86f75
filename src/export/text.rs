//! Text from pages as data: in a string literal, in a comment, in a file name. Pure.

use std::fmt::Write as _;

/// Characters that end a line in JavaScript or turn the direction of what is read, though they cannot be seen.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The text as a string literal of JavaScript, TypeScript and JSON.
#[must_use]
pub fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_unseen(c) => {
                let mut units = [0_u16; 2];
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The text in one line that can stand behind `//`.
#[must_use]
pub fn line(text: &str) -> String {
    let visible: String = text.chars().map(|c| if is_unseen(c) { ' ' } else { c }).collect();
    let flat = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= 160 {
        return flat;
    }
    flat.chars().take(159).chain(['…']).collect()
}

/// The text as a regular expression's source in which every number stands for any.
#[must_use]
pub fn with_any_number(text: &str) -> String {
    let mut out = String::new();
    let mut in_number = false;
    for c in text.chars() {
        if c.is_ascii_digit() {
            if !in_number {
                out.push_str("[\\d.,]+");
            }
            in_number = true;
            continue;
        }
        // What stands between the digits of one number.
        if in_number && matches!(c, '.' | ',') {
            continue;
        }
        in_number = false;
        if "\\^$.|?*+()[]{}/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Letters and digits of a text, in lower case and joined by `-`; at most `most` of them.
#[must_use]
pub fn slug(text: &str, most: usize) -> String {
    let words: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    let joined = words.split_whitespace().collect::<Vec<_>>().join("-");
    let cut: String = joined.chars().take(most).collect();
    cut.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_comes_back_from_its_literal(text in any::<String>()) {
            let literal = literal(&text);
            // JSON is a subset of JavaScript's literals here: nothing that ends a line is left in it.
            prop_assert_eq!(serde_json::from_str::<String>(&literal).unwrap(), text);
            prop_assert!(!literal.chars().any(is_unseen));
        }

        #[test]
        fn no_text_leaves_its_comment(text in any::<String>()) {
            prop_assert!(!line(&text).chars().any(is_unseen));
        }

        #[test]
        fn a_file_name_is_a_file_name(text in any::<String>()) {
            prop_assert!(slug(&text, 60).chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
        }

        #[test]
        fn a_name_fits_its_own_pattern(text in "[ -~]{0,40}") {
            let pattern = regex::Regex::new(&format!("^{}$", with_any_number(&text))).unwrap();
            prop_assert!(pattern.is_match(&text), "{}", pattern);
        }
    }

    #[test]
    fn a_line_that_would_end_early_does_not() {
        assert_eq!(literal("a\"; process.exit() //\n\u{2028}\\"), r#""a\"; process.exit() //\n\u2028\\""#);
        assert_eq!(line("one\r\n*/ two\u{2029}\u{202e}three"), "one */ two three");
        assert_eq!(with_any_number("Cart (3) costs 1,200.50"), "Cart \\([\\d.,]+\\) costs [\\d.,]+");
    }
}
