//! One pass over the text of a state: where its keys and its entries stand.
//!
//! Why: at a hundred thousand routes the file is tens of megabytes, and a transition touches a few hundred bytes of it.
//! The scan reads strict JSON as serde_json does. Whatever is unusual (an escape in a key, a key that stands twice,
//! anything that is wrong) makes it give up, and the slow way by serde_json reads the file or says what is wrong with it.

use std::ops::Range;

/// The three lists, in the order of the format.
pub(super) const LISTS: [&str; 3] = ["completed", "failed", "pending"];

/// Nesting that is followed; serde_json goes no deeper than 128.
const DEEPEST: usize = 64;

/// Where the state's keys stand.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Each key of the outer object with its value.
    pub(super) top: Vec<(Range<usize>, Range<usize>)>,
    /// The elements of each list.
    pub(super) lists: [Vec<Element>; 3],
}

/// An element of a list.
#[derive(Debug, Default)]
pub(super) struct Element {
    /// All of it.
    pub(super) text: Range<usize>,
    /// The values of the keys that are read in every entry, empty when absent; only of an object.
    pub(super) fields: [Range<usize>; QUICK],
}

/// The keys of an entry; the first [`QUICK`] are read in every entry.
const FIELDS: [&str; 15] = [
    "route",
    "review_status",
    "tested_at",
    "report_file",
    "bug_report_file",
    "status",
    "bugs_count",
    "operations_count",
    "screenshots_dir",
    "summary",
    "report_sha256",
    "failed_at",
    "error",
    "retry_count",
    "last_error",
];

/// How many keys are read in every entry.
pub(super) const QUICK: usize = 6;
pub(super) const ROUTE: usize = 0;
pub(super) const REVIEW_STATUS: usize = 1;
pub(super) const TESTED_AT: usize = 2;
pub(super) const REPORT_FILE: usize = 3;
pub(super) const BUG_REPORT_FILE: usize = 4;
pub(super) const STATUS: usize = 5;

/// Scans a whole state; `None` when it is not plain.
pub(super) fn scan(text: &str) -> Option<Scan> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    let mut scan = Scan::default();
    scanner.space();
    scanner.members(|scanner, key| {
        let name = text.get(key.clone())?;
        if scan.top.iter().any(|(other, _)| text.get(other.clone()) == Some(name)) {
            return None;
        }
        let start = scanner.at;
        match LISTS.iter().position(|list| *list == name).and_then(|place| scan.lists.get_mut(place)) {
            Some(elements) => scanner.elements(|scanner| {
                elements.push(scanner.element()?);
                Some(())
            })?,
            None => scanner.value(0)?,
        }
        scan.top.push((key, start..scanner.at));
        Some(())
    })?;
    scanner.space();
    (scanner.at == text.len()).then_some(scan)
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The byte in every place of a word.
const fn all(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// A high bit in each byte that is zero (and perhaps in bytes above it).
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(all(1)) & !word & all(0x80)
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn word(&self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..self.at + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    #[inline]
    fn space(&mut self) {
        loop {
            match self.peek() {
                Some(b' ') => {
                    while self.word() == Some(all(b' ')) {
                        self.at += 8;
                    }
                    if self.peek() == Some(b' ') {
                        self.at += 1;
                    }
                }
                Some(b'\n' | b'\r' | b'\t') => self.at += 1,
                _ => return,
            }
        }
    }

    /// An object: calls for each member, standing at its value.
    #[inline]
    fn members(&mut self, mut member: impl FnMut(&mut Self, Range<usize>) -> Option<()>) -> Option<()> {
        self.items(b'{', b'}', |scanner| {
            let (key, plain) = scanner.string()?;
            if !plain {
                return None;
            }
            scanner.space();
            scanner.eat(b':')?;
            scanner.space();
            member(scanner, key)
        })
    }

    /// A list: calls for each element, standing at it.
    #[inline]
    fn elements(&mut self, element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.items(b'[', b']', element)
    }

    /// What stands between two brackets, with commas between.
    #[inline]
    fn items(&mut self, open: u8, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.eat(open)?;
        self.space();
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                end if end == close => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
            self.space();
        }
    }

    /// An element of a list; of an object, no known key may stand twice.
    fn element(&mut self) -> Option<Element> {
        let mut element = Element::default();
        let start = self.at;
        if self.peek()? == b'{' {
            let bytes = self.bytes;
            let mut seen = 0_u32;
            self.members(|scanner, key| {
                let name = bytes.get(key)?;
                let field = FIELDS.iter().position(|field| field.as_bytes() == name);
                let value = scanner.at;
                scanner.value(0)?;
                if let Some(field) = field {
                    if seen & (1 << field) != 0 {
                        return None;
                    }
                    seen |= 1 << field;
                    if let Some(place) = element.fields.get_mut(field) {
                        *place = value..scanner.at;
                    }
                }
                Some(())
            })?;
        } else {
            self.value(0)?;
        }
        element.text = start..self.at;
        Some(element)
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match self.peek()? {
            b'"' => self.string().map(|_| ()),
            // A key of a deeper object may hold escapes and stand twice: it is kept as text.
            b'{' => {
                self.at += 1;
                self.space();
                if self.peek()? == b'}' {
                    self.at += 1;
                    return Some(());
                }
                loop {
                    self.string()?;
                    self.space();
                    self.eat(b':')?;
                    self.space();
                    self.value(depth + 1)?;
                    self.space();
                    match self.peek()? {
                        b',' => self.at += 1,
                        b'}' => {
                            self.at += 1;
                            return Some(());
                        }
                        _ => return None,
                    }
                    self.space();
                }
            }
            b'[' => self.elements(|scanner| scanner.value(depth + 1)),
            b't' => self.word_of(b"true"),
            b'f' => self.word_of(b"false"),
            b'n' => self.word_of(b"null"),
            _ => self.number(),
        }
    }

    fn word_of(&mut self, word: &[u8]) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    /// A string: what stands between its quotes, and whether it is without escapes.
    #[inline]
    fn string(&mut self) -> Option<(Range<usize>, bool)> {
        self.eat(b'"')?;
        let start = self.at;
        let mut plain = true;
        loop {
            while let Some(word) = self.word() {
                let special = zeros(word ^ all(b'"')) | zeros(word ^ all(b'\\')) | zeros(word & all(0xE0));
                if special == 0 {
                    self.at += 8;
                } else {
                    // The lowest mark is exact.
                    let skip = if cfg!(target_endian = "little") { special.trailing_zeros() / 8 } else { 0 };
                    self.at += skip as usize;
                    break;
                }
            }
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some((start..self.at - 1, plain));
                }
                b'\\' => {
                    plain = false;
                    self.at += 1;
                    let escape = self.peek()?;
                    self.at += 1;
                    match escape {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                        b'u' => {
                            let digits = self.bytes.get(self.at..self.at + 4)?;
                            if !digits.iter().all(u8::is_ascii_hexdigit) {
                                return None;
                            }
                            self.at += 4;
                        }
                        _ => return None,
                    }
                }
                0..=0x1F => return None,
                _ => self.at += 1,
            }
        }
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_and_their_fields_are_found_where_they_stand() {
        let text = r#"{"completed": [ {"x": [1, "}"], "route": "/a", "tested_at": "t"} ], "pending": ["/b","/c"], "z": -1.5e+3}"#;
        let scan = scan(text).unwrap();
        let keys: Vec<_> = scan.top.iter().map(|(key, value)| (&text[key.clone()], &text[value.clone()])).collect();
        assert_eq!(keys[2], ("z", "-1.5e+3"));
        let [completed, _, pending] = &scan.lists;
        assert_eq!(&text[completed[0].fields[ROUTE].clone()], "\"/a\"");
        assert_eq!(&text[completed[0].fields[TESTED_AT].clone()], "\"t\"");
        assert!(completed[0].fields[REPORT_FILE].is_empty());
        assert_eq!(&text[pending[1].text.clone()], "\"/c\"");
    }

    #[test]
    fn what_is_unusual_or_wrong_is_left_to_the_slow_way() {
        for text in [
            "",
            "[]",
            "{",
            "{}}",
            "{\"a\": 1, \"a\": 2}",
            "{\"\\u0061\": 1}",
            "{\"a\": 01}",
            "{\"a\": 1.}",
            "{\"a\": .5}",
            "{\"a\": +1}",
            "{\"a\": nul}",
            "{\"a\": \"\t\"}",
            "{\"a\": \"\\x\"}",
            "{\"a\": \"\\u12g4\"}",
            "{\"a\": [1,]}",
            "{\"a\": 1,}",
            "{\"a\" 1}",
            "{\"completed\": {}}",
            "{\"completed\": [{\"route\": \"/a\", \"route\": \"/b\"}]}",
        ] {
            assert!(scan(text).is_none(), "{text}");
        }
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?".prop_map(|text| text),
            "[ -~äß\u{1F600}\t\n\"\\\\]{0,24}".prop_map(|text| serde_json::to_string(&text).unwrap()),
            Just("\"\\ud800\\u00e4\\/\"".to_owned()),
        ];
        let space = "[ \n\t]{0,11}";
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                (proptest::collection::vec(inner.clone(), 0..4), space)
                    .prop_map(|(all, space)| format!("[{space}{}{space}]", all.join(&format!("{space},{space}")))),
                (proptest::collection::vec(("[a-c]{1,2}", inner), 0..4), space).prop_map(|(all, space)| {
                    let members: Vec<String> =
                        all.into_iter().map(|(key, value)| format!("{space}\"{key}\"{space}:{space}{value}")).collect();
                    format!("{{{}{space}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_ends_for_the_scan_where_it_ends_for_serde_json(text in json(), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let whole = |text: &str| {
                let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
                scanner.space();
                let found = scanner.value(0);
                scanner.space();
                found.is_some() && scanner.at == text.len()
            };
            prop_assert!(whole(&text), "{}", text);
            // One byte is changed: what the scan takes, serde_json takes.
            let mut bytes = text.into_bytes();
            let place = cut.index(bytes.len());
            bytes[place] = byte & 0x7F;
            if let Ok(text) = String::from_utf8(bytes) {
                let by_serde = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
                prop_assert_eq!(whole(&text), by_serde, "{}", text);
            }
        }
    }
}
