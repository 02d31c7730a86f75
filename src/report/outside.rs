//! Reads the bug report that an outside reviewer wrote: what only stands there must still be counted.
//!
//! Any Markdown will do in which a heading carries the bug's id, followed by lines `Location: …`, `Expected: …`,
//! `Actual: …`, `Screenshot: …`, `Source: …`. A bug that the route's report has too keeps its place and takes the
//! reviewer's id.

use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::markdown::{HEADING_LIMIT, one_line};
use super::review::Found;
use crate::maze::{Bug, Severity};

/// Adds the bugs of the text that are not known yet, and notes the ids of those that are.
pub(super) fn take_in(found: &mut Vec<Found>, text: &str, slug: &str) {
    for read in bugs_in(text, slug) {
        let known = found.iter_mut().filter(|known| known.wanted.is_none()).find(|known| {
            let same_text =
                one_line(&known.bug.description, HEADING_LIMIT) == one_line(&read.bug.description, HEADING_LIMIT);
            let same_shot = known.bug.screenshot.is_some()
                && known.bug.screenshot == read.bug.screenshot
                && known.bug.severity == read.bug.severity;
            same_text || same_shot
        });
        match known {
            Some(known) => known.wanted = read.wanted,
            // A reworded bug of the tester's stands in the report already.
            None if read.tester_reported => {}
            None => found.push(Found { wanted: read.wanted, ..Found::by_review(read.bug) }),
        }
    }
}

struct Read {
    wanted: Option<String>,
    tester_reported: bool,
    bug: Bug,
}

fn bugs_in(text: &str, slug: &str) -> Vec<Read> {
    static ID: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(BUG-(\S*?)-(?:S\d+-?)?([CMm])\d+)\b[\s:\u{2013}\u{2014}\]-]*(.*)$").ok());
    let mut bugs: Vec<Read> = Vec::new();
    let mut open = false;
    for line in lines(text) {
        match line {
            Line::Heading(heading) => {
                let id = ID.as_ref().and_then(|regex| regex.captures(&heading)).filter(|id| &id[2] == slug);
                open = id.is_some();
                if let Some(id) = id {
                    let severity = match &id[3] {
                        "C" => Severity::Critical,
                        "M" => Severity::Major,
                        _ => Severity::Minor,
                    };
                    bugs.push(Read {
                        wanted: Some(id[1].to_owned()),
                        tester_reported: false,
                        bug: blank(severity, id[4].trim()),
                    });
                }
            }
            Line::Text(text) if open => {
                let (Some(read), Some((key, value))) = (bugs.last_mut(), text.split_once(':')) else { continue };
                let value = value.trim().to_owned();
                match key.trim().to_ascii_lowercase().as_str() {
                    "description" if read.bug.description.is_empty() => read.bug.description = value,
                    "location" | "where" => read.bug.location = value,
                    "expected" => read.bug.expected = value,
                    "actual" => read.bug.actual = value,
                    "source" => read.tester_reported = value.starts_with("tester"),
                    "screenshot" | "evidence" if !value.is_empty() => {
                        let file = value.rsplit('/').next().unwrap_or(&value).trim();
                        read.bug.screenshot = Some(file.to_owned());
                    }
                    _ => {}
                }
            }
            Line::Text(_) => {}
        }
    }
    bugs.retain(|read| !read.bug.description.is_empty());
    bugs
}

enum Line {
    Heading(String),
    Text(String),
}

/// The text without its markup: one entry per heading, paragraph line and list item.
fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut flush = |current: &mut String, heading: bool| {
        let text = std::mem::take(current);
        if !text.trim().is_empty() {
            lines.push(if heading {
                Line::Heading(text.trim().to_owned())
            } else {
                Line::Text(text.trim().to_owned())
            });
        }
    };
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Text(part) | Event::Code(part) => current.push_str(&part),
            Event::End(TagEnd::Heading(_)) => flush(&mut current, true),
            Event::SoftBreak
            | Event::HardBreak
            | Event::Start(Tag::Item | Tag::Heading { .. } | Tag::Paragraph)
            | Event::End(TagEnd::Item | TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::TableRow) => {
                flush(&mut current, false);
            }
            Event::End(TagEnd::TableCell) => current.push(' '),
            _ => {}
        }
    }
    flush(&mut current, false);
    lines
}

fn blank(severity: Severity, description: &str) -> Bug {
    Bug {
        severity,
        description: description.to_owned(),
        location: String::new(),
        expected: String::new(),
        actual: String::new(),
        screenshot: None,
        kind: None,
        fingerprint: None,
        fingerprint_v2: None,
        fingerprint_v3: None,
        fingerprint_parts: None,
        trace: Vec::new(),
        original_trace: Vec::new(),
        source: Some("reviewer-found".to_owned()),
        confirmed: None,
        fire_rate: None,
        also_at: Vec::new(),
        evidence: Vec::new(),
    }
}
