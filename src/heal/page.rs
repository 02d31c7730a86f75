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
    /// Reads the snapshot out of an `error-context` file; an empty page when there is none.
    #[must_use]
    pub fn of_context(markdown: &str) -> Self {
        let Some(rest) = markdown.split_once("# Page snapshot").map(|(_, rest)| rest) else { return Self::default() };
        let Some(yaml) = rest.split_once("```yaml\n").map(|(_, rest)| rest) else { return Self::default() };
        Self::parse(yaml.split_once("\n```").map_or(yaml, |(yaml, _)| yaml))
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
    fn a_page_that_is_not_the_one_is_told() {
        assert_eq!(Page::parse("- generic [active] [ref=e1]").is_elsewhere(""), Some("the page is blank"));
        assert!(Page::parse("- heading \"502 Bad Gateway\" [level=1]").is_elsewhere("").is_some());
        let login = Page::parse("- textbox \"Password\"\n- button \"Log in\"");
        assert!(login.is_elsewhere("click").is_some() && login.is_elsewhere("fill the Password").is_none());
    }
}
