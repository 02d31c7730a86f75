//! What one link of a locator finds in a page's snapshot, as Playwright would.

use crate::heal::page::Page;
use crate::heal::spec::Link;

/// What a link finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// These nodes.
    Nodes(Vec<usize>),
    /// The snapshot does not tell: a CSS path, a test id, a pattern.
    Unknown,
}

/// Whether elements of this role take a label.
pub(super) fn is_field(role: &str) -> bool {
    matches!(
        role,
        "textbox" | "searchbox" | "combobox" | "spinbutton" | "checkbox" | "radio" | "switch" | "slider" | "listbox"
    )
}

pub(super) fn resolve(link: &Link, filter: Option<&str>, page: &Page, scope: Option<usize>) -> Found {
    let matches = |name: &str, wanted: &str| {
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        if link.exact {
            squeeze(name) == squeeze(wanted)
        } else {
            squeeze(name).to_lowercase().contains(&squeeze(wanted).to_lowercase())
        }
    };
    let has_pattern = link.args.iter().any(|argument| argument.starts_with('/') || argument.contains(":/"));
    if has_pattern {
        return Found::Unknown;
    }
    let inside = |index: usize| {
        page.is_in(index, scope)
            && filter.is_none_or(|text| page.words(index).to_lowercase().contains(&text.to_lowercase()))
    };
    let all = page.nodes.iter().enumerate().filter(|(index, _)| inside(*index));
    let nodes = match (link.method.as_str(), &link.text) {
        ("getByRole", Some(role)) => all
            .filter(|(_, node)| {
                node.role == *role && link.name_option.as_ref().is_none_or(|name| matches(&node.name, name))
            })
            .map(|(index, _)| index)
            .collect(),
        ("getByText", Some(text)) => {
            let says = |index: usize| {
                page.nodes.get(index).is_some_and(|node| matches(&node.name, text) || matches(&node.text, text))
            };
            // The innermost element that says it.
            let hits: Vec<usize> = all
                .map(|(index, _)| index)
                .filter(|index| says(*index))
                .filter(|index| page.nodes.get(*index).is_some_and(|node| node.role != "text"))
                .collect();
            hits.iter().copied().filter(|hit| !hits.iter().any(|other| page.is_in(*other, Some(*hit)))).collect()
        }
        ("getByLabel", Some(text)) => {
            all.filter(|(_, node)| is_field(&node.role) && matches(&node.name, text)).map(|(index, _)| index).collect()
        }
        ("getByPlaceholder", Some(text)) => all
            .filter(|(_, node)| {
                node.placeholder.as_ref().is_some_and(|placeholder| matches(placeholder, text))
                    || (node.placeholder.is_none()
                        && matches!(node.role.as_str(), "textbox" | "searchbox")
                        && matches(&node.name, text))
            })
            .map(|(index, _)| index)
            .collect(),
        ("frameLocator" | "contentFrame", _) => {
            let frames: Vec<usize> = all.filter(|(_, node)| node.role == "iframe").map(|(index, _)| index).collect();
            // With several frames the snapshot does not say which one is meant.
            if frames.len() == 1 {
                frames
            } else {
                return Found::Unknown;
            }
        }
        ("locator", Some(text)) if text.trim() == "iframe" => {
            return resolve(&Link { method: "contentFrame".to_owned(), ..link.clone() }, filter, page, scope);
        }
        _ => return Found::Unknown,
    };
    Found::Nodes(nodes)
}
