//! The page as the report shows it: Playwright's aria snapshot, as a tree. Pure. The text is a page's: data, never more.

/// A page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its nodes, in the order of the snapshot.
    pub nodes: Vec<Node>,
}

/// One node of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Role; `text` for plain text.
    pub role: String,
    /// Accessible name.
    pub name: String,
    /// Plain text directly in it.
    pub text: String,
    /// Placeholder.
    pub placeholder: Option<String>,
    /// Whether it is disabled.
    pub disabled: bool,
    /// Index of its parent.
    pub parent: Option<usize>,
}

impl Page {
    /// Reads the page out of what a failing test left: an `error-context` file, an aria snapshot, or the text of its errors. An
    /// empty page when there is none in it.
    ///
    /// Playwright writes a whole page under `# Page snapshot`, and leaves that away when the matcher that failed brought a
    /// snapshot of its own: then it stands in the error details, as YAML, or as what an aria snapshot received.
    #[must_use]
    pub fn of_context(text: &str) -> Self {
        // The test's own source may hold snapshots too: what it expects is no page.
        let told = section(text, "Test source").map_or(text, |(before, _)| before);
        let own = section(told, "Page snapshot").and_then(|(_, rest)| fenced(rest));
        let inner = || section(told, "Error details").map_or(told, |(_, rest)| rest);
        let bare = || told.trim_start().starts_with("- ").then(|| told.to_owned());
        let found = own
            .map(str::to_owned)
            .filter(|yaml| !Self::parse(yaml).nodes.is_empty())
            .or_else(|| fenced(inner()).map(str::to_owned))
            .or_else(|| received(inner()))
            .or_else(bare);
        found.map(|yaml| Self::parse(&yaml)).unwrap_or_default()
    }

    /// Reads a snapshot.
    #[must_use]
    pub fn parse(yaml: &str) -> Self {
        let mut page = Self::default();
        let mut open: Vec<(usize, usize)> = Vec::new();
        for line in yaml.lines() {
            let indent = line.len() - line.trim_start().len();
            let Some(item) = line.trim_start().strip_prefix("- ") else { continue };
            while open.last().is_some_and(|(at, _)| *at >= indent) {
                open.pop();
            }
            let parent = open.last().map(|(_, index)| *index);
            if let Some(property) = item.strip_prefix('/') {
                if let (Some(text), Some(parent)) =
                    (property.strip_prefix("placeholder:"), parent.and_then(|parent| page.nodes.get_mut(parent)))
                {
                    parent.placeholder = Some(scalar(text));
                }
                continue;
            }
            let Some(node) = node(item, parent) else { continue };
            if node.role == "text"
                && let Some(parent) = parent.and_then(|parent| page.nodes.get_mut(parent))
            {
                let gap = if parent.text.is_empty() { "" } else { " " };
                parent.text = format!("{}{gap}{}", parent.text, node.text);
            }
            open.push((indent, page.nodes.len()));
            page.nodes.push(node);
        }
        page
    }

    /// Whether `index` lies in `scope` (none: everything does).
    #[must_use]
    pub fn is_in(&self, index: usize, scope: Option<usize>) -> bool {
        let Some(scope) = scope else { return true };
        let mut at = self.nodes.get(index).and_then(|node| node.parent);
        while let Some(up) = at {
            if up == scope {
                return true;
            }
            at = self.nodes.get(up).and_then(|node| node.parent);
        }
        false
    }

    /// Everything that a node says, with what lies in it.
    #[must_use]
    pub fn words(&self, index: usize) -> String {
        let inner = (0..self.nodes.len()).filter(|other| *other == index || self.is_in(*other, Some(index)));
        let texts =
            inner.filter_map(|index| self.nodes.get(index)).flat_map(|node| [node.name.as_str(), node.text.as_str()]);
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Why this is not the page that the test is about: blank, an error of the server, a login; none when it may be.
    #[must_use]
    pub fn is_elsewhere(&self, spec: &str) -> Option<&'static str> {
        let said = |node: &Node| !node.name.is_empty() || !node.text.is_empty();
        if !self.nodes.is_empty() && !self.nodes.iter().any(said) {
            return Some("the page is blank");
        }
        let all: Vec<&Node> = self.nodes.iter().filter(|node| said(node)).collect();
        let error = |text: &str| {
            let text = text.to_lowercase();
            [
                "internal server error",
                "bad gateway",
                "service unavailable",
                "gateway timeout",
                "this site can’t be reached",
                "this site can't be reached",
            ]
            .iter()
            .any(|word| text.contains(word))
        };
        if all.len() <= 12 && all.iter().any(|node| error(&node.name) || error(&node.text)) {
            return Some("the application answers with an error of the server");
        }
        let password = |node: &&Node| node.role == "textbox" && node.name.to_lowercase().contains("password");
        if all.iter().any(password) && !spec.to_lowercase().contains("password") {
            return Some("the application shows a login");
        }
        None
    }
}

/// What stands before a heading, and what stands after it.
fn section<'a>(text: &'a str, heading: &str) -> Option<(&'a str, &'a str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.strip_prefix('#').is_some_and(|rest| rest.trim_start_matches('#').trim() == heading) {
            return Some((text.get(..at)?, text.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

/// The first YAML between fences.
fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```yaml\n").or_else(|| text.split_once("```yml\n"))?;
    Some(rest.split_once("\n```").map_or(rest, |(yaml, _)| yaml))
}

/// What an aria snapshot received, out of the difference to what it expected: `+` is the page's, `-` the test's, the rest of both.
fn received(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("toMatchAriaSnapshot")?;
    let mut lines = rest.lines().skip_while(|line| !line.trim_start().starts_with("+ Received  +")).skip(1);
    let mut yaml = String::new();
    for line in lines.by_ref() {
        let line = match (line.get(..2), line.get(2..)) {
            (Some("+ " | "  "), Some(rest)) if rest.trim_start().starts_with("- ") => rest,
            (Some("- ") | None, _) => continue,
            _ if line.trim().is_empty() || line.starts_with("@@") => continue,
            _ => break,
        };
        yaml.push_str(line);
        yaml.push('\n');
    }
    (!yaml.is_empty()).then_some(yaml)
}

fn node(item: &str, parent: Option<usize>) -> Option<Node> {
    // YAML puts a key with a colon in it between quotes.
    let unquoted;
    let item = if let Some(rest) = item.strip_prefix('\'') {
        let mut key = String::new();
        let mut letters = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((at, letter)) = letters.next() {
            if letter == '\'' {
                if letters.peek().is_some_and(|(_, next)| *next == '\'') {
                    letters.next();
                } else {
                    end = at + 1;
                    break;
                }
            }
            key.push(letter);
        }
        unquoted = format!("{key}{}", rest.get(end..).unwrap_or_default());
        unquoted.as_str()
    } else {
        item
    };
    let end = item.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(item.len());
    let (role, mut rest) = item.split_at(end);
    if role.is_empty() {
        return None;
    }
    let mut node = Node { role: role.to_owned(), parent, ..Node::default() };
    rest = rest.trim_start();
    if rest.starts_with('"') {
        let mut names = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        if let Some(Ok(name)) = names.next() {
            node.name = name;
            rest = rest.get(names.byte_offset()..).unwrap_or_default();
        }
    }
    rest = rest.trim_start();
    while let Some(inner) = rest.strip_prefix('[') {
        let (attribute, after) = inner.split_once(']')?;
        node.disabled |= attribute == "disabled";
        rest = after.trim_start();
    }
    if let Some(text) = rest.strip_prefix(':') {
        node.text = scalar(text);
    }
    Some(node)
}

/// A YAML scalar.
fn scalar(text: &str) -> String {
    let text = text.trim();
    if text.starts_with('"') {
        serde_json::from_str(text).unwrap_or_else(|_| text.trim_matches('"').to_owned())
    } else if let Some(inner) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        inner.replace("''", "'")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_read_as_a_tree() {
        let page = Page::of_context(
            "x\n# Page snapshot\n\n```yaml\n- generic [active] [ref=e1]:\n  - heading \"Orders \\\"new\\\"\" [level=1] [ref=e2]\n  - generic [ref=e3]:\n    - text: Mail\n    - textbox \"Mail\" [ref=e4]:\n      - /placeholder: Your mail\n  - 'button \"a: b''s\" [disabled] [ref=e5]'\n  - paragraph: \"Total: 42\"\n```\n# Test source\n```ts\n- button \"Fake\"\n```",
        );
        let told: Vec<_> =
            page.nodes.iter().map(|node| (node.role.as_str(), node.name.as_str(), node.text.as_str())).collect();
        assert_eq!(
            told,
            [
                ("generic", "", ""),
                ("heading", "Orders \"new\"", ""),
                ("generic", "", "Mail"),
                ("text", "", "Mail"),
                ("textbox", "Mail", ""),
                ("button", "a: b's", ""),
                ("paragraph", "", "Total: 42"),
            ]
        );
        assert_eq!(page.nodes[4].placeholder.as_deref(), Some("Your mail"));
        assert!(page.nodes[5].disabled);
        assert!(page.is_in(4, Some(2)) && !page.is_in(5, Some(2)));
        assert!(page.words(0).contains("Total: 42"));
    }

    #[test]
    fn a_page_is_found_also_where_only_the_error_details_hold_it() {
        let told = |text: &str| {
            let page = Page::of_context(text);
            page.nodes.into_iter().map(|node| format!("{} {}", node.role, node.name)).collect::<Vec<_>>()
        };
        let source = "# Test source\n\n```ts\n- button \"Fake\"\n```\n```yaml\n- button \"Fake\"\n```\n";
        let details = "# Error details\n\n```\nTimeoutError: x\n```\n\n```yaml\n- button \"Start\" [ref=e1]\n- status: done\n```\n\n";
        assert_eq!(told(&format!("# Instructions\n\n{details}{source}")), ["button Start", "status "]);
        // An empty section is as none; one that holds the page goes first.
        assert_eq!(told(&format!("{details}# Page snapshot\n\n```yaml\n\n```\n{source}")).len(), 2);
        assert_eq!(told(&format!("{details}# Page snapshot\n\n```yaml\n- link \"A\"\n```\n{source}")), ["link A"]);
        let difference = "Error: expect(locator).toMatchAriaSnapshot(expected) failed\n\nLocator: locator('body')\n- Expected  - 1\n+ Received  + 1\n\n  - heading \"Orders\" [level=1]\n- - button \"Begin\"\n+ - button \"Start\"\n  - list:\n+   - listitem: one\n\nCall log:\n  - Expect \"toMatchAriaSnapshot\" with timeout 5000ms\n";
        assert_eq!(told(difference), ["heading Orders", "button Start", "list ", "listitem "]);
        assert_eq!(told("- button \"Start\"\n"), ["button Start"]);
        assert_eq!(
            told("TimeoutError: locator.click: Timeout\nCall log:\n  - waiting for getByRole('button')\n"),
            [""; 0]
        );
        assert_eq!(told(source), [""; 0]);
    }

    #[test]
    fn a_page_that_is_not_the_one_is_told() {
        assert_eq!(Page::parse("- generic [active] [ref=e1]").is_elsewhere(""), Some("the page is blank"));
        assert!(Page::parse("- heading \"502 Bad Gateway\" [level=1]").is_elsewhere("").is_some());
        let login = Page::parse("- textbox \"Password\"\n- button \"Log in\"");
        assert!(login.is_elsewhere("click").is_some() && login.is_elsewhere("fill the Password").is_none());
    }
}
