//! Markdown from text that is not ours: escaped, on one line, of bounded length.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::ui::is_invisible;

/// Longest text in a heading or a table cell, in characters.
pub(super) const HEADING_LIMIT: usize = 200;
/// Longest text in a paragraph or list item, in characters.
pub(super) const TEXT_LIMIT: usize = 1_200;

/// One line of at most `limit` characters: white space collapsed, control characters and direction marks gone.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    // Nothing beyond this can survive the collapse; a text of megabytes is not walked to its end.
    let head: String = text.chars().take(limit.saturating_mul(8)).collect();
    let collapsed = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let visible: String = collapsed.chars().filter(|c| !is_invisible(*c)).collect();
    let length = visible.chars().count();
    if length <= limit && head.len() == text.len() {
        return visible;
    }
    let cut: String = visible.chars().take(limit).collect();
    format!("{}… ({} characters)", cut.trim_end(), text.chars().count())
}

/// The text as Markdown that shows exactly its characters, in a paragraph, heading, list item or table cell.
pub(super) fn text(text: &str, limit: usize) -> String {
    let line = one_line(text, limit);
    let mut out = String::with_capacity(line.len() + 16);
    let chars: Vec<char> = line.chars().collect();
    for (i, &c) in chars.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| chars.get(i)).copied();
        let after = chars.get(i + 1).copied();
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let escape = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '|' | '~' | '^' | '$' => true,
            // `snake_case` is no emphasis.
            '_' => !(word(before) && word(after)),
            '&' => after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '#'),
            '!' => after == Some('['),
            // What makes a list, a heading or a rule at the beginning of a line; `@name` calls people on some hosts.
            '#' | '+' | '-' | '=' | '>' => i == 0,
            '@' => !word(before),
            '.' | ')' => i > 0 && i < 10 && chars.iter().take(i).all(char::is_ascii_digit),
            _ => false,
        };
        if escape {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A text in a list item or paragraph.
pub(super) fn para(value: &str) -> String {
    text(value, TEXT_LIMIT)
}

/// A text in a heading or table cell.
pub(super) fn cell(value: &str) -> String {
    text(value, HEADING_LIMIT)
}

const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'|')
    .add(b'\\')
    .add(b'^')
    .add(b'[')
    .add(b']')
    .add(b'(')
    .add(b')')
    .add(b'\'')
    .add(b'&')
    .add(b':');

/// A relative path as a link's target.
pub(super) fn href(path: &str) -> String {
    utf8_percent_encode(path, PATH).to_string()
}

/// `[label](path)`.
pub(super) fn link(label: &str, path: &str) -> String {
    format!("[{}]({})", cell(label), href(path))
}

/// A table with its head.
pub(super) struct Table {
    text: String,
}

impl Table {
    /// Columns, `>` before a name puts it to the right.
    pub(super) fn new(columns: &[&str]) -> Self {
        let mut text = String::from("|");
        let mut rule = String::from("|");
        for column in columns {
            let (name, mark) = column.strip_prefix('>').map_or((*column, " --- |"), |name| (name, " ---: |"));
            text.push_str(&format!(" {name} |"));
            rule.push_str(mark);
        }
        Self { text: format!("{text}\n{rule}\n") }
    }

    /// Adds a row of cells that are Markdown already.
    pub(super) fn row<T: AsRef<str>>(&mut self, cells: &[T]) {
        self.text.push('|');
        for cell in cells {
            self.text.push_str(&format!(" {} |", cell.as_ref()));
        }
        self.text.push('\n');
    }

    /// The table, with the empty line that ends it.
    pub(super) fn done(self) -> String {
        format!("{}\n", self.text)
    }
}
