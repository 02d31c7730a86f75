//! The route map as values, and its written form.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::{Route, RouteError, parse};

/// Every known route of an application, in categories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouteMap {
    /// The routes in the order of the map; a route's number is its place, counted from 1.
    pub routes: Vec<MapRoute>,
    /// What is not tested, and why.
    pub excluded: Vec<Excluded>,
    /// The categories in order.
    pub categories: Vec<Category>,
    /// What stood where a route belongs and is none; said to the reader, never dropped silently.
    pub problems: Vec<String>,
}

/// A route of the map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapRoute {
    /// The route.
    pub route: Route,
    /// `list`, `detail`, `create`, `tool`, `dashboard`, `settings`, …; empty when not known.
    pub page_type: String,
    /// The parent's path; empty when not known.
    pub parent: String,
    /// Actions that are known to be on the page.
    pub known_actions: Vec<String>,
}

impl MapRoute {
    /// A route about which nothing else is known.
    #[must_use]
    pub fn new(route: Route) -> Self {
        let parent = match route.key().rsplit_once('/') {
            Some((parent, _)) if !parent.is_empty() && !parent.contains(['?', '#']) => parent.to_owned(),
            _ => String::new(),
        };
        Self { route, page_type: String::new(), parent, known_actions: Vec::new() }
    }
}

/// A route or glob that is not tested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// Route or glob.
    pub pattern: String,
    /// Why.
    pub reason: String,
}

/// A section of the application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// Its routes, in order.
    pub routes: Vec<Route>,
}

impl RouteMap {
    /// Reads a route map: tables with a Route column, bullets under categories, or a plain list of paths.
    ///
    /// # Errors
    /// [`RouteError::EmptyMap`] when no route can be found in it.
    pub fn parse(text: &str) -> Result<Self, RouteError> {
        let mut map = parse::parse(text);
        if map.routes.is_empty() {
            return Err(RouteError::EmptyMap);
        }
        if map.categories.is_empty() {
            map.derive_categories();
        }
        Ok(map)
    }

    /// Reads a list of routes as people keep them: paths or addresses of one origin, one per line or as a JSON array,
    /// or anything that [`RouteMap::parse`] reads.
    ///
    /// # Errors
    /// [`RouteError::EmptyMap`] without a route; [`RouteError::NotARoute`] for addresses of more than one origin.
    pub fn from_list(text: &str) -> Result<Self, RouteError> {
        let text = match serde_json::from_str::<Vec<String>>(text) {
            Ok(lines) => lines.join("\n"),
            Err(_) => text.to_owned(),
        };
        let mut origin: Option<String> = None;
        let mut problems = Vec::new();
        let mut lines = Vec::new();
        for line in text.lines() {
            let (lead, rest) = line.split_at(line.find("http").unwrap_or(0));
            let is_address = (rest.starts_with("http://") || rest.starts_with("https://"))
                && lead.chars().all(|c| c.is_whitespace() || matches!(c, '-' | '*' | '+'));
            match url::Url::parse(rest.split_whitespace().next().unwrap_or_default()) {
                Ok(url) if is_address => {
                    let its = url.origin().ascii_serialization();
                    if origin.get_or_insert_with(|| its.clone()) != &its {
                        let text = rest.to_owned();
                        return Err(RouteError::NotARoute {
                            text,
                            reason: "the list holds addresses of more than one origin",
                        });
                    }
                    lines.push(format!("{lead}{}", &url[url::Position::BeforePath..]));
                }
                _ => {
                    let word = line.trim();
                    // A path whose slash was forgotten would be lost without a word.
                    if word.starts_with(char::is_alphanumeric) && !word.contains(char::is_whitespace) {
                        problems.push(format!("`{word}` is not a route: it does not begin with `/`"));
                    }
                    if word.starts_with('/') && word.contains(char::is_whitespace) {
                        problems.push(format!("of `{word}` only what stands before the first space is taken"));
                    }
                    lines.push(line.to_owned());
                }
            }
        }
        let mut map = Self::parse(&lines.join("\n"))?;
        map.problems.extend(problems);
        Ok(map)
    }

    /// A map of these routes (the first of equal ones), in categories by the first part of their path.
    #[must_use]
    pub fn from_routes(routes: impl IntoIterator<Item = Route>) -> Self {
        let mut seen = HashSet::new();
        let routes = routes.into_iter().filter(|route| seen.insert(route.clone())).map(MapRoute::new).collect();
        let mut map = Self { routes, ..Self::default() };
        map.derive_categories();
        map
    }

    /// Puts routes into categories by the first part of their path.
    fn derive_categories(&mut self) {
        self.categories.clear();
        for entry in &self.routes {
            let key = entry.route.key();
            let first = key.trim_start_matches('/').split(['/', '?', '#']).next().unwrap_or_default();
            let name = if first.is_empty() { "Root".to_owned() } else { title(first) };
            match self.categories.iter_mut().find(|category| category.name == name) {
                Some(category) => category.routes.push(entry.route.clone()),
                None => self.categories.push(Category { name, routes: vec![entry.route.clone()] }),
            }
        }
    }

    /// The number of a route: its place in the map, counted from 1.
    #[must_use]
    pub fn number(&self, route: &Route) -> Option<usize> {
        self.routes.iter().position(|entry| entry.route == *route).map(|place| place + 1)
    }

    /// The same map with its routes in the order of the categories, so that numbers run on across them.
    #[must_use]
    pub fn in_category_order(mut self) -> Self {
        let mut order = std::collections::HashMap::new();
        for route in self.categories.iter().flat_map(|category| &category.routes) {
            let next = order.len();
            order.entry(route.clone()).or_insert(next);
        }
        self.routes.sort_by_key(|entry| order.get(&entry.route).copied().unwrap_or(usize::MAX));
        self
    }

    /// Writes the map in the known format; `source` is the strategy that found the routes.
    #[must_use]
    pub fn render(&self, generated_at: DateTime<Utc>, source: &str) -> String {
        let mut out = format!(
            "# Route Map\n\n> Generated by agent-test: {} testable {}\n> Generated at: {}\n> Source: {}\n\n## Route Registry\n\n\
             | # | Route | Page Type | Parent | Known Actions | Status |\n| --- | --- | --- | --- | --- | --- |\n",
            self.routes.len(),
            if self.routes.len() == 1 { "route" } else { "routes" },
            generated_at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            source
        );
        for (place, entry) in self.routes.iter().enumerate() {
            out.push_str(&format!(
                "| {} | {} | {} | {} | {} | pending |\n",
                place + 1,
                cell(&quoted(entry.route.as_str())),
                cell(&entry.page_type),
                cell(&quoted(&entry.parent)),
                cell(&entry.known_actions.join(","))
            ));
        }
        out.push_str("\n## Excluded Routes (not testable)\n\n| Route | Reason |\n| --- | --- |\n");
        for excluded in &self.excluded {
            out.push_str(&format!("| {} | {} |\n", cell(&quoted(&excluded.pattern)), cell(&excluded.reason)));
        }
        out.push_str("\n## Route Categories\n");
        for (place, category) in self.categories.iter().enumerate() {
            out.push_str(&format!("\n### Category {}: {} ({})\n\n", place + 1, category.name, category.routes.len()));
            for route in &category.routes {
                out.push_str(&format!("- {}\n", quoted(route.as_str())));
            }
        }
        out
    }
}

fn title(word: &str) -> String {
    let words = word.split(['-', '_']).filter(|part| !part.is_empty());
    let titled: Vec<String> = words
        .map(|part| {
            let mut letters = part.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        })
        .collect();
    if titled.is_empty() { word.to_owned() } else { titled.join(" ") }
}

fn quoted(text: &str) -> String {
    // A blank would end the route, and a line end the row.
    if text.contains(char::is_whitespace) && !text.contains('`') {
        format!("`{}`", text.replace(['\n', '\r', '\t'], " "))
    } else {
        text.to_owned()
    }
}

fn cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_written_map_is_read_back_as_it_was(texts in proptest::collection::vec("/[a-z*_|:?=#~%<>\\[\\]() -]{0,12}[a-z]", 1..12)) {
            let routes: Vec<Route> = texts.iter().filter_map(|text| Route::parse(text).ok()).collect();
            prop_assume!(!routes.is_empty());
            let mut map = RouteMap::from_routes(routes).in_category_order();
            map.excluded.push(Excluded { pattern: "/exception/*".into(), reason: "error page | none".into() });
            let text = map.render(DateTime::UNIX_EPOCH, "list");
            let read = RouteMap::parse(&text).unwrap();
            let written: Vec<_> = map.routes.iter().map(|e| e.route.as_str()).collect();
            let back: Vec<_> = read.routes.iter().map(|e| e.route.as_str()).collect();
            prop_assert_eq!(written, back, "{}", text);
            prop_assert_eq!(&read.excluded, &map.excluded);
        }
    }

    #[test]
    fn the_written_form_is_the_known_one() {
        let routes = ["/users", "/settings/general", "/users/roles"].map(|text| Route::parse(text).unwrap());
        let mut map = RouteMap::from_routes(routes).in_category_order();
        map.excluded.push(Excluded { pattern: "/login".into(), reason: "authentication".into() });
        insta::assert_snapshot!(map.render(DateTime::UNIX_EPOCH, "list"), @r"
        # Route Map

        > Generated by agent-test: 3 testable routes
        > Generated at: 1970-01-01T00:00:00Z
        > Source: list

        ## Route Registry

        | # | Route | Page Type | Parent | Known Actions | Status |
        | --- | --- | --- | --- | --- | --- |
        | 1 | /users |  |  |  | pending |
        | 2 | /users/roles |  | /users |  | pending |
        | 3 | /settings/general |  | /settings |  | pending |

        ## Excluded Routes (not testable)

        | Route | Reason |
        | --- | --- |
        | /login | authentication |

        ## Route Categories

        ### Category 1: Users (2)

        - /users
        - /users/roles

        ### Category 2: Settings (1)

        - /settings/general
        ");
    }
}
