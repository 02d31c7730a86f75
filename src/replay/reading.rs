//! What a control says that it does: destroys, ends the session, closes, confirms. Pure.

use crate::browser::{Element, words};

/// Whether an element reads destructive, by its name, its tooltip or its icon.
#[must_use]
pub fn reads_destructive(element: &Element) -> bool {
    let named = element.name.is_empty() && words::icon_is_destructive(&element.icons);
    let is_link = element.role == "link";
    named || [&element.name, &element.title].into_iter().any(|text| words::is_destructive(text, is_link))
}

/// Whether an element ends the session, by its name, its tooltip, its icon or its address.
#[must_use]
pub fn ends_session(element: &Element) -> bool {
    let icon = element.name.is_empty() && words::icon_ends_session(&element.icons);
    let address = element.href.as_deref().or(element.form_action.as_deref()).is_some_and(|href| {
        let path = href.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let last = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let last = last.split('.').next().unwrap_or_default();
        matches!(last, "logout" | "log-out" | "log_out" | "signout" | "sign-out" | "sign_out" | "logoff" | "signoff")
    });
    icon || address || [&element.name, &element.title].into_iter().any(|text| words::ends_session(text))
}

const CLOSE_WORDS: &[&str] = &[
    "cancel",
    "keep",
    "never mind",
    "close",
    "dismiss",
    "no",
    "not now",
    "back",
    "abbrechen",
    "schließen",
    "nein",
    "annuler",
    "fermer",
    "non",
    "cancelar",
    "cerrar",
    "fechar",
    "annulla",
    "chiudi",
    "annuleren",
    "sluiten",
    "avbryt",
    "stäng",
    "anuluj",
    "zamknij",
    "отмена",
    "закрыть",
    "キャンセル",
    "閉じる",
    "取消",
    "关闭",
    "취소",
    "닫기",
    "iptal",
    "kapat",
    "×",
    "x",
    "✕",
    "✖",
    "╳",
];

/// Whether an element closes what it stands in.
#[must_use]
pub fn closes(element: &Element) -> bool {
    if element.overlay < 0 {
        return false;
    }
    let name = element.name.to_lowercase();
    let name = name.trim();
    let icon = name.is_empty()
        && ["close", "fa-times", "bi-x", "icon-x", "mdi-close", "dismiss"]
            .iter()
            .any(|word| element.icons.contains(word));
    icon || CLOSE_WORDS.iter().any(|word| {
        name == *word
            || name.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', ',']) && !rest.contains("order"))
    })
}

const CONFIRM_WORDS: &[&str] = &[
    "yes",
    "ok",
    "okay",
    "confirm",
    "continue",
    "proceed",
    "accept",
    "agree",
    "apply",
    "submit",
    "do it",
    "go ahead",
    "save",
    "ja",
    "bestätigen",
    "weiter",
    "oui",
    "confirmer",
    "continuer",
    "si",
    "sí",
    "sì",
    "confirmar",
    "aceptar",
    "sim",
    "conferma",
    "bevestigen",
    "tak",
    "да",
    "подтвердить",
    "はい",
    "确定",
    "确认",
    "是",
    "예",
    "확인",
    "evet",
    "onayla",
];

/// Whether an element of a question answers it with yes.
#[must_use]
pub fn confirms(element: &Element) -> bool {
    let name = element.name.to_lowercase();
    let name = name.trim();
    let word = CONFIRM_WORDS
        .iter()
        .any(|word| name == *word || name.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', ','])));
    !closes(element) && (word || element.submits || reads_destructive(element) || name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_controls_are_known_only_inside_something_open() {
        let inside = Element { overlay: 0, name: "Cancel".into(), ..Element::default() };
        assert!(closes(&inside));
        assert!(!closes(&Element { overlay: -1, ..inside.clone() }));
        assert!(!closes(&Element { name: "Cancel order".into(), ..inside.clone() }));
        assert!(closes(&Element { name: String::new(), icons: "class=\"btn-close\"".into(), ..inside }));
    }

    #[test]
    fn the_answer_yes_is_known_and_keeping_is_not_yes() {
        let inside = |name: &str| Element { overlay: 0, name: name.into(), ..Element::default() };
        for name in ["Yes, delete", "OK", "Delete everything", "Remove"] {
            assert!(confirms(&inside(name)), "{name}");
        }
        for name in ["Cancel", "Keep workspace", "No, go back", "Learn more"] {
            assert!(!confirms(&inside(name)), "{name}");
        }
    }

    #[test]
    fn the_end_of_a_session_is_known_by_name_icon_and_address() {
        let element = Element { overlay: -1, ..Element::default() };
        assert!(ends_session(&Element { name: "Sign out".into(), ..element.clone() }));
        assert!(ends_session(&Element { icons: "fas fa-sign-out-alt".into(), ..element.clone() }));
        assert!(ends_session(&Element {
            name: "Bye".into(),
            href: Some("http://a.b/account/logout?x=1".into()),
            ..element.clone()
        }));
        assert!(!ends_session(&Element {
            name: "Show tiles".into(),
            href: Some("http://a.b/logout-link#tiles".into()),
            ..element
        }));
    }
}
