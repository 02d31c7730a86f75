//! Signatures: what makes two elements, or two screens, the same. Pure.

use std::collections::HashMap;

use url::Url;

use crate::browser::{Element, Look};
use crate::trace::fingerprint::{path_template, strip_numbers};

/// What tells an element from every other one of its route, across loads.
#[must_use]
pub fn signature(element: &Element, look: &Look) -> String {
    let overlay = usize::try_from(element.overlay).ok().and_then(|index| look.overlays.get(index));
    let overlay = overlay.map(|overlay| format!("{}:{}", overlay.kind, overlay.name)).unwrap_or_default();
    let name = if element.name.is_empty() { &element.css } else { &element.name };
    let href = element.raw_href.as_deref().map(|_| address(element)).unwrap_or_default();
    format!(
        "{}|{}|{}|{}|{}|{}|{}",
        element.role,
        name,
        element.landmark,
        overlay,
        element.frame.join(">"),
        href,
        element.row.map(|row| row.to_string()).unwrap_or_default()
    )
}

/// The signature with numbers removed: elements of one family are more of the same.
#[must_use]
pub fn family(element: &Element) -> String {
    let label = strip_numbers(&element.display_name());
    format!("{}|{}|{}|{}", element.role, label, element.landmark, element.group)
}

/// What tells an element of the shared header or navigation from others, across routes of a campaign. None when it does
/// not stand in one.
#[must_use]
pub fn shared_key(element: &Element) -> Option<String> {
    let shared = matches!(element.landmark.as_str(), "navigation" | "banner" | "complementary" | "contentinfo");
    let in_overlay = element.overlay >= 0;
    (shared && !in_overlay && element.row.is_none() && !element.name.is_empty())
        .then(|| format!("{}|{}|{}|{}", element.landmark, element.role, strip_numbers(&element.name), address(element)))
}

fn address(element: &Element) -> String {
    element
        .href
        .as_deref()
        .and_then(|href| Url::parse(href).ok())
        .map(|url| format!("{}{}", url.host_str().unwrap_or_default(), path_template(&url)))
        .unwrap_or_default()
}

/// What is open above the page, outermost first.
#[must_use]
pub fn open_overlays(look: &Look) -> Vec<String> {
    look.overlays.iter().map(|overlay| format!("{}:{}", overlay.kind, overlay.name)).collect()
}

/// Identity of a screen: address template, signatures without numbers and repeats, and what is open.
#[must_use]
pub fn screen_key(look: &Look) -> String {
    let mut families: Vec<String> = look.elements.iter().map(family).collect();
    families.sort();
    families.dedup();
    let url = Url::parse(&look.url).map_or_else(|_| look.url.clone(), |url| path_template(&url));
    format!("{url}\n{}\n{}", open_overlays(look).join(","), families.join("\n"))
}

/// Indices of the elements in `after` that were not on the screen `before`.
#[must_use]
pub fn appeared(before: &Look, after: &Look) -> Vec<usize> {
    let mut known: HashMap<String, usize> = HashMap::new();
    for element in &before.elements {
        *known.entry(signature(element, before)).or_default() += 1;
    }
    let same_document = before.doc == after.doc;
    let old: HashMap<u64, &Element> = before.elements.iter().map(|element| (element.uid, element)).collect();
    let mut new = Vec::new();
    for (index, element) in after.elements.iter().enumerate() {
        let count = known.entry(signature(element, after)).or_default();
        if *count > 0 {
            *count -= 1;
        } else if !(same_document && old.get(&element.uid).is_some_and(|old| is_variant(old, element))) {
            new.push(index);
        }
    }
    new
}

/// Whether an element that is still there is what it was: a link to the same address, or the same label with something
/// added or counted.
fn is_variant(old: &Element, new: &Element) -> bool {
    if old.raw_href.is_some() && old.raw_href == new.raw_href {
        return true;
    }
    let (old, new) = (old.name.as_str(), new.name.as_str());
    old.is_empty()
        || new.is_empty()
        || strip_numbers(old) == strip_numbers(new)
        || new.contains(old)
        || old.contains(new)
}

/// Finds an element again: the very same one in the same document, else the one with the same signature, else the one of
/// the same role at the same place (only `by_place`: a list may show other items when it is scrolled elsewhere).
#[must_use]
pub fn find_again<'a>(wanted: &Element, at: &Look, nth: usize, now: &'a Look, by_place: bool) -> Option<&'a Element> {
    let signature_wanted = signature(wanted, at);
    if at.doc == now.doc
        && let Some(same) = now.elements.iter().find(|element| element.uid == wanted.uid && element.role == wanted.role)
        && (same.name == wanted.name
            || strip_numbers(&same.name) == strip_numbers(&wanted.name)
            || same.css == wanted.css)
        && same.frame == wanted.frame
    {
        return Some(same);
    }
    let mut alike = now.elements.iter().filter(|element| signature(element, now) == signature_wanted);
    let first = alike.next();
    if let Some(first) = first {
        return if nth == 0 { Some(first) } else { alike.nth(nth - 1).or(Some(first)) };
    }
    now.elements.iter().find(|element| {
        by_place
            && element.css == wanted.css
            && element.role == wanted.role
            && element.frame == wanted.frame
            && element.shadow == wanted.shadow
            && (element.overlay >= 0) == (wanted.overlay >= 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn button(uid: u64, name: &str) -> Element {
        Element {
            uid,
            role: "button".into(),
            name: name.into(),
            css: format!("#b{uid}"),
            overlay: -1,
            ..Element::default()
        }
    }

    fn screen(doc: &str, elements: Vec<Element>) -> Look {
        Look { doc: doc.into(), url: "http://a.b/x".into(), elements, ..Look::default() }
    }

    #[test]
    fn what_was_there_before_has_not_appeared_even_after_a_load() {
        let before = screen("1", vec![button(1, "A"), button(2, "B")]);
        let after = screen("2", vec![button(7, "A"), button(8, "B"), button(9, "C")]);
        assert_eq!(appeared(&before, &after), [2]);
    }

    #[test]
    fn one_more_of_the_same_has_appeared() {
        let before = screen("1", vec![button(1, "Close")]);
        let after = screen("1", vec![button(1, "Close"), button(2, "Close")]);
        assert_eq!(appeared(&before, &after), [1]);
    }

    #[test]
    fn a_label_that_counts_is_not_a_new_element_and_another_label_is() {
        let before = screen("1", vec![button(1, "Row 1"), button(2, "Dark")]);
        let after = screen("1", vec![button(1, "Row 1 (read 3)"), button(2, "Light")]);
        assert_eq!(appeared(&before, &after), [1]);
    }

    #[test]
    fn an_element_is_found_again_by_itself_by_signature_or_by_place() {
        let before = screen("1", vec![button(1, "A"), button(2, "B")]);
        let wanted = before.elements[1].clone();
        assert_eq!(find_again(&wanted, &before, 0, &before, true).map(|element| element.uid), Some(2));
        let loaded = screen("2", vec![button(11, "A"), button(12, "B")]);
        assert_eq!(find_again(&wanted, &before, 0, &loaded, true).map(|element| element.uid), Some(12));
        let renamed = screen("2", vec![button(11, "A"), Element { uid: 5, css: "#b2".into(), ..button(2, "Bee") }]);
        assert_eq!(find_again(&wanted, &before, 0, &renamed, true).map(|element| element.uid), Some(5));
        assert!(find_again(&wanted, &before, 0, &screen("2", vec![button(11, "A")]), true).is_none());
    }

    #[test]
    fn only_what_stands_in_the_frame_of_the_page_is_shared() {
        let plain = button(1, "A");
        assert!(shared_key(&plain).is_none());
        assert!(shared_key(&Element { landmark: "navigation".into(), ..plain.clone() }).is_some());
        assert!(shared_key(&Element { landmark: "navigation".into(), overlay: 0, ..plain }).is_none());
    }
}
