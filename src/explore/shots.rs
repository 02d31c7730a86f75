//! Names of screenshots: two-digit phase, then the path of the action in lower case with hyphens. Pure.

/// The part of a route's report that an element belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Outside tables and the detail page.
    Toolbar,
    /// The first row's actions.
    RowActions,
    /// Header of the detail page.
    DetailHeader,
    /// Tabs of the detail page.
    DetailTabs,
}

impl Section {
    fn prefix(self) -> &'static str {
        match self {
            Self::Toolbar => "02-toolbar",
            Self::RowActions => "03-row-action",
            Self::DetailHeader => "05-detail-action",
            Self::DetailTabs => "06-detail-tab",
        }
    }
}

/// Longest name without its extension, in bytes.
const LONGEST: usize = 96;

/// Name (without extension) of a node's screenshot. `labels` go from the section to the node.
#[must_use]
pub fn shot_name(section: Section, labels: &[String], suffix: &str) -> String {
    let prefix = if labels.len() > 2 { "08-nested" } else { section.prefix() };
    // Deep paths keep their end, which tells them apart.
    let tail = labels.len().saturating_sub(3);
    let path: Vec<String> = labels[tail..].iter().map(|label| slug(label)).filter(|part| !part.is_empty()).collect();
    let mut name = format!("{prefix}-{}", if path.is_empty() { "element".to_owned() } else { path.join("-") });
    let room = LONGEST - suffix.len();
    if name.len() > room {
        name.truncate(room);
        name.truncate(name.trim_end_matches('-').len());
    }
    name + suffix
}

/// ASCII letters and digits in lower case, everything else one hyphen.
fn slug(label: &str) -> String {
    let mut text = String::new();
    for c in label.chars() {
        if c.is_ascii_alphanumeric() {
            text.push(c.to_ascii_lowercase());
        } else if !text.ends_with('-') && !text.is_empty() {
            text.push('-');
        }
        if text.len() >= 36 {
            break;
        }
    }
    text.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(list: &[&str]) -> Vec<String> {
        list.iter().map(|label| (*label).to_owned()).collect()
    }

    #[test]
    fn names_carry_phase_path_and_suffix() {
        assert_eq!(shot_name(Section::Toolbar, &labels(&["Create"]), ""), "02-toolbar-create");
        assert_eq!(shot_name(Section::Toolbar, &labels(&["Create", "Step 1"]), ""), "02-toolbar-create-step-1");
        assert_eq!(shot_name(Section::RowActions, &labels(&["Delete"]), "-disabled"), "03-row-action-delete-disabled");
        assert_eq!(shot_name(Section::Toolbar, &labels(&["A", "B", "C"]), ""), "08-nested-a-b-c");
    }

    #[test]
    fn any_label_gives_a_safe_name() {
        for label in ["", "../../etc/passwd", "a\\b:c*?", "日本語", "\u{0}", &"x".repeat(500)] {
            let name = shot_name(Section::DetailTabs, &labels(&[label]), "-error");
            assert!(
                name.len() <= LONGEST
                    && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{name}"
            );
        }
    }
}
