//! Reads a route map leniently: people and agents write it too.
//!
//! The Markdown parser finds the blocks; inside them the raw text is taken, because a path such as `/a_b/*` is not
//! meant as emphasis.

use std::collections::HashSet;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Category, Excluded, MapRoute, Route, RouteMap};

/// Headings that are parts of the known format and no category.
const PARTS: [&str; 3] = ["route map", "route registry", "route categories"];

#[derive(Default)]
struct Reader {
    map: RouteMap,
    seen: HashSet<Route>,
    categorised: HashSet<Route>,
    excluded: bool,
    category: Option<String>,
}

pub(super) fn parse(text: &str) -> RouteMap {
    let text = &tables_apart(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut reader = Reader::default();
    let mut header: Option<Vec<String>> = None;
    let mut row: Vec<String> = Vec::new();
    let mut items = 0_usize;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let raw = text.get(range).unwrap_or_default();
        match event {
            Event::Start(Tag::Heading { level, .. }) => reader.heading(level, raw),
            Event::Start(Tag::Table(_)) => header = None,
            Event::Start(Tag::TableHead | Tag::TableRow) => row.clear(),
            Event::Start(Tag::TableCell) => row.push(plain(cell(raw))),
            Event::End(TagEnd::TableHead) => {
                header = Some(row.iter().map(|cell| cell.to_lowercase()).collect());
            }
            Event::End(TagEnd::TableRow) => {
                if let Some(header) = &header {
                    reader.table_row(header, &row);
                }
            }
            Event::Start(Tag::Item) => {
                items += 1;
                let line = raw.trim_start().lines().next().unwrap_or_default();
                reader.line(
                    line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(['-', '*', '+', '.', ')']),
                );
            }
            Event::End(TagEnd::Item) => items = items.saturating_sub(1),
            Event::Start(Tag::Paragraph | Tag::CodeBlock(_)) if items == 0 => {
                for line in raw.lines() {
                    reader.line(line);
                }
            }
            _ => {}
        }
    }
    reader.map.categories.retain(|category| !category.routes.is_empty());
    reader.map
}

/// Puts a blank line before a table that follows a list or a paragraph at once: to Markdown it would be part of that.
fn tables_apart(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = "";
    for line in text.split_inclusive('\n') {
        let previous = before.trim();
        if line.trim_start().starts_with('|') && !previous.is_empty() && !previous.starts_with('|') {
            out.push('\n');
        }
        out.push_str(line);
        before = line;
    }
    out
}

impl Reader {
    fn heading(&mut self, level: HeadingLevel, raw: &str) {
        // A heading may also be lines of text above a line of dashes.
        let raw = raw.trim();
        let raw = if raw.starts_with('#') { raw } else { raw.rsplit_once('\n').map_or(raw, |(text, _)| text) };
        let title = plain(raw.trim_matches('#').trim()).split_whitespace().collect::<Vec<_>>().join(" ");
        let lower = title.to_lowercase();
        self.excluded = lower.contains("excluded") || (self.excluded && level > HeadingLevel::H2);
        let is_part = level == HeadingLevel::H1 || self.excluded || PARTS.iter().any(|part| lower.starts_with(part));
        self.category = (!is_part).then(|| category_name(&title));
    }

    fn table_row(&mut self, header: &[String], row: &[String]) {
        let column = |names: &[&str]| {
            header.iter().position(|name| names.contains(&name.as_str())).and_then(|place| row.get(place)).cloned()
        };
        let Some(text) = column(&["route", "routes", "path"]) else { return };
        let text = unquoted(&text);
        if text.is_empty() {
            return;
        }
        if self.excluded {
            let reason = column(&["reason", "why"]).unwrap_or_default();
            self.map.excluded.push(Excluded { pattern: text, reason });
            return;
        }
        match Route::parse(&text) {
            Ok(route) => {
                let mut entry = MapRoute::new(route);
                entry.page_type = column(&["page type", "type"]).unwrap_or_default();
                if let Some(parent) = column(&["parent"]).filter(|parent| parent.starts_with('/')) {
                    entry.parent = unquoted(&parent);
                }
                let actions = column(&["known actions", "actions"]).unwrap_or_default();
                entry.known_actions = actions
                    .split(',')
                    .map(str::trim)
                    .filter(|action| action.chars().any(char::is_alphanumeric))
                    .map(str::to_owned)
                    .collect();
                self.add(entry);
            }
            Err(error) => self.map.problems.push(error.to_string()),
        }
    }

    /// A bullet, or a line of a plain list.
    fn line(&mut self, raw: &str) {
        let line = raw.trim();
        let line = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim();
        let line = plain(line);
        let (text, rest) = match line.strip_prefix('`').and_then(|quoted| quoted.split_once('`')) {
            Some((quoted, rest)) => (quoted.to_owned(), rest.to_owned()),
            None => {
                let end = line.find(char::is_whitespace).unwrap_or(line.len());
                let (first, rest) = line.split_at(end);
                (first.to_owned(), rest.to_owned())
            }
        };
        if !text.starts_with('/') {
            return;
        }
        if self.excluded {
            let reason = rest.trim().trim_start_matches(['-', '–', '—', ':']).trim().to_owned();
            self.map.excluded.push(Excluded { pattern: text, reason });
            return;
        }
        match Route::parse(&text) {
            Ok(route) => self.add(MapRoute::new(route)),
            Err(error) => self.map.problems.push(error.to_string()),
        }
    }

    fn add(&mut self, entry: MapRoute) {
        if let Some(name) = &self.category
            && self.categorised.insert(entry.route.clone())
        {
            match self.map.categories.iter_mut().find(|category| category.name == *name) {
                Some(category) => category.routes.push(entry.route.clone()),
                None => {
                    let routes = vec![entry.route.clone()];
                    self.map.categories.push(Category { name: name.clone(), routes });
                }
            }
        }
        if self.seen.insert(entry.route.clone()) {
            self.map.routes.push(entry);
        }
    }
}

/// `Category 3: Billing (12)` is `Billing`; any other heading is its own name.
fn category_name(title: &str) -> String {
    let mut name = title;
    if let Some((number, rest)) = name.split_once(':') {
        let words: Vec<&str> = number.split_whitespace().collect();
        if words.first().is_some_and(|word| word.eq_ignore_ascii_case("category")) && words.len() <= 2 {
            name = rest.trim();
        }
    }
    if let Some((before, count)) = name.rsplit_once('(')
        && count.trim_end().trim_end_matches(')').chars().all(|c| c.is_ascii_digit())
        && !before.trim().is_empty()
    {
        name = before.trim();
    }
    name.to_owned()
}

/// A cell without its border; an escaped border is part of its text.
fn cell(raw: &str) -> &str {
    let mut text = raw.trim();
    while let Some(rest) = text.strip_suffix('|').filter(|rest| !rest.ends_with('\\')) {
        text = rest.trim_end();
    }
    text
}

/// Takes backslash escapes away, and a link's address out of it. No route holds a backslash.
fn plain(text: &str) -> String {
    if let Some((_, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once("]("))
        && let Some((address, _)) = rest.split_once(')')
        && address.starts_with('/')
    {
        return address.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\\' && letters.peek().is_some_and(char::is_ascii_punctuation) {
            continue;
        }
        out.push(letter);
    }
    out
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{Route, RouteMap};

    fn routes(text: &str) -> Vec<String> {
        RouteMap::parse(text).unwrap().routes.iter().map(|entry| entry.route.to_string()).collect()
    }

    #[test]
    fn a_plain_list_a_bullet_list_and_any_table_are_read() {
        assert_eq!(routes("/a\n/b/*\n/c_d_e\n"), ["/a", "/b/*", "/c_d_e"]);
        assert_eq!(
            routes("- `/a b` - with a blank\n* [x] /c — done\n1. [Home](/home)\n  - /nested\n"),
            ["/a b", "/c", "/home", "/nested"]
        );
        assert_eq!(routes("| Name | Route |\n|---|---|\n| x | `/a` |\n| y | /b\\|c |\n"), ["/a", "/b|c"]);
        assert_eq!(routes("```\n/a\n/b\n```\n"), ["/a", "/b"]);
    }

    #[test]
    fn a_table_right_below_a_list_or_a_sentence_is_read() {
        assert_eq!(routes("- /a\n| Route |\n|---|\n| /b |\n| /c |\n"), ["/a", "/b", "/c"]);
        assert_eq!(routes("These:\n| Route |\n|---|\n| /b |\n"), ["/b"]);
    }

    #[test]
    fn a_border_that_is_escaped_stays_in_its_cell() {
        let text = "- /a\n\n## Excluded\n\n| Route | Reason |\n|---|---|\n| /b | \\| none \\| |\n";
        let map = RouteMap::parse(text).unwrap();
        assert_eq!(map.excluded.first().map(|excluded| excluded.reason.as_str()), Some("| none |"));
    }

    #[test]
    fn a_heading_of_several_lines_is_one_name() {
        let map = RouteMap::parse("Billing\n/old\n---\n- /bills\n").unwrap();
        assert_eq!(map.categories.first().map(|category| category.name.as_str()), Some("Billing /old"));
        let written = map.render(chrono::DateTime::UNIX_EPOCH, "list");
        assert_eq!(RouteMap::parse(&written).unwrap().routes, map.routes, "{written}");
    }

    #[test]
    fn bullets_under_any_heading_form_a_category() {
        let map =
            RouteMap::parse("# Routes\n\n## Billing\n- /bills\n- /bills/new\n\n## Category 2: Users (1)\n- /users\n")
                .unwrap();
        let names: Vec<_> = map.categories.iter().map(|c| (c.name.as_str(), c.routes.len())).collect();
        assert_eq!(names, [("Billing", 2), ("Users", 1)]);
    }

    #[test]
    fn what_is_excluded_is_no_route_and_what_is_no_route_is_told() {
        let map = RouteMap::parse(
            "## Route Registry\n\n| # | Route | Status |\n|---|---|---|\n| 1 | /a | tested |\n| 2 | ../x | pending |\n\n\
             ## Excluded Routes (not testable)\n\n| Route | Reason |\n|---|---|\n| /login | auth |\n",
        )
        .unwrap();
        assert_eq!(map.routes.len(), 1);
        assert_eq!(map.excluded.first().map(|e| e.reason.as_str()), Some("auth"));
        assert_eq!(map.problems.len(), 1);
        assert_eq!(map.number(&Route::parse("/a").unwrap()), Some(1));
    }

    #[test]
    fn a_map_without_a_route_is_refused() {
        assert!(RouteMap::parse("# Route Map\n\nnothing yet\n").is_err());
    }
}
