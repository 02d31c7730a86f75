//! The text of one entry, and a file that is put together from such texts.
//!
//! Why: a transition touches one entry of many. The others stay ranges of the file as it was read: never copied on
//! reading, and written in runs as long as the file.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Runs shorter than this are copied: a system call for each would cost more.
const LONG_RUN: usize = 32 * 1024;

/// A piece of JSON: a range of the file that was read, or a text of our own.
#[derive(Clone, Debug)]
pub(super) enum Text {
    /// Bytes of the file; the range lies on character boundaries.
    Read(Arc<String>, Range<usize>),
    /// Written by us.
    Own(Box<str>),
}

impl Default for Text {
    fn default() -> Self {
        Self::Own(Box::default())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Own(text.into_boxed_str())
    }
}

impl Text {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Read(file, range) => file.get(range.clone()).unwrap_or_default(),
            Self::Own(text) => text,
        }
    }
}

/// A text in parts, so that long unchanged runs need no copy.
#[derive(Debug, Default)]
pub(super) struct Rope<'a> {
    parts: Vec<Cow<'a, str>>,
}

impl<'a> Rope<'a> {
    pub(super) fn push(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Cow::Owned(last)) => last.push_str(text),
            _ => self.parts.push(Cow::Owned(text.to_owned())),
        }
    }

    fn push_run(&mut self, text: &'a str) {
        if text.len() < LONG_RUN { self.push(text) } else { self.parts.push(Cow::Borrowed(text)) }
    }

    /// A list at this depth. Elements that follow each other in the file as we would write them are one run.
    pub(super) fn push_list(&mut self, texts: impl Iterator<Item = &'a Text>, depth: usize) {
        let separator = format!(",\n{}", "  ".repeat(depth + 1));
        let mut run: Option<(&'a Arc<String>, Range<usize>)> = None;
        let mut first = true;
        self.push("[");
        for text in texts {
            if let (Some((file, range)), Text::Read(other, next)) = (&mut run, text)
                && Arc::ptr_eq(file, other)
                && file.get(range.end..next.start) == Some(separator.as_str())
            {
                range.end = next.end;
                continue;
            }
            if let Some((file, range)) = run.take() {
                self.push_run(file.get(range).unwrap_or_default());
            }
            self.push(if first { separator.get(1..).unwrap_or_default() } else { &separator });
            first = false;
            match text {
                Text::Read(file, range) => run = Some((file, range.clone())),
                Text::Own(text) => self.push(text),
            }
        }
        if let Some((file, range)) = run.take() {
            self.push_run(file.get(range).unwrap_or_default());
        }
        if !first {
            self.push("\n");
            self.push(&"  ".repeat(depth));
        }
        self.push("]");
    }

    /// The parts, in order.
    pub(super) fn parts(&self) -> Vec<&[u8]> {
        self.parts.iter().map(|part| part.as_bytes()).collect()
    }
}

impl From<Rope<'_>> for String {
    fn from(rope: Rope<'_>) -> Self {
        rope.parts.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_the_file_are_written_as_one_run() {
        let element = "x".repeat(LONG_RUN);
        let file = Arc::new(format!("{element},\n    {element},\n    {element}"));
        let text = |place: usize| {
            let start = place * (LONG_RUN + 6);
            Text::Read(Arc::clone(&file), start..start + LONG_RUN)
        };
        let all = [text(0), text(1), Text::from("\"own\"".to_owned()), text(2)];
        let mut rope = Rope::default();
        rope.push_list(all.iter(), 1);
        assert_eq!(rope.parts().len(), 5);
        let expected = format!("[\n    {element},\n    {element},\n    \"own\",\n    {element}\n  ]");
        assert_eq!(String::from(rope), expected);
    }
}
