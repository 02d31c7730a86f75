//! Words that read destructive, in the languages that the big UI kits ship, and icons without words. Pure.

use std::sync::LazyLock;

use regex::Regex;
use url::Url;

/// Ends the session: never pressed at all, since a page can do it without a request.
const LEAVE: &str = r"(?ix)
    \b(log[\s_-]?(out|off)|sign[\s_-]?(out|off)|abmelden|ausloggen|d[ée]connexion|se\sd[ée]connecter|cerrar\ssesi[óo]n
    |salir|sair|terminar\ssess[ãa]o|esci|disconnetti(ti)?|uitloggen|afmelden|logga\sut|logg\sut|log\sud|kirjaudu\sulos
    |wyloguj(\ssi[ęe])?|odhl[áa]sit(\sse)?|kijelentkez[ée]s|deconectare|[çc][ıi]k[ıi][şs]\syap|oturumu\skapat|keluar|[đd][ăa]ng\sxu[ấa]t)\b
    |выйти|выход|вийти|вихід|αποσύνδεση|ログアウト|サインアウト|退出登录|退出|登出|注销|로그아웃|ออกจากระบบ|تسجيل\sالخروج|התנתק|लॉग\s?आउट";

/// Takes away or ends: whatever the control is.
const DESTROY: &str = r"(?ix)
    \b(delet(e|es|ing|ion)|remov(e|es|ing|al)|destroy|drop\s(table|database|index|all)|erase|purge|wipe|truncate|discard|trash|uninstall|terminate
    |deactivat(e|ion)|disable\saccount|suspend|revoke|shut\s?down|power\s?off|factory\sreset|unsubscribe|cancel\s(order|subscription|account|plan|booking|invoice|payment|membership)
    |close\saccount|empty\s(trash|bin|cart)|clear\s(all|data|history|database|cache)|ban\suser|kick|block\suser|pay\snow|buy\snow|place\sorder|submit\sorder
    |l[öo]schen|entfernen|k[üu]ndigen|deaktivieren
    |supprimer|effacer|retirer|d[ée]sactiver
    |eliminar|borrar|quitar|desactivar
    |excluir|apagar|remover|cancella|elimina|rimuovi|disattiva
    |verwijderen|wissen|ta\sbort|radera|slett|slet|poista
    |usu[ńn]|smazat|odstranit|t[öo]rl[ée]s|[șs]terge|sil|kald[ıi]r|hapus|x[óo]a)\b
    |удалить|удаление|видалити|διαγραφή|削除|消去|删除|移除|清空|刪除|삭제|제거|ลบ|حذف|מחק|हटाएं";

/// Changes, sends or pays when a button says it; a link of this name is a page (`Release notes`, `Archive`).
const CHANGE: &str = r"(?ix)
    ^\W*(drop|reset|restart|reboot|archive|pay|buy|purchase|checkout|check\sout|send|publish|transfer|withdraw|refund|approve|reject|merge|deploy|release|retire|close\s(ticket|issue|order)
    |zur[üu]cksetzen|bezahlen|senden|ver[öo]ffentlichen|r[ée]initialiser|envoyer|payer|publier|restablecer|enviar|pagar|comprar|publicar|redefinir
    |ripristina|invia|paga|pubblica|verzenden|betalen|skicka|l[äa]het[äa]|wy[śs]lij|zap[łl]a[ćc]|odeslat|g[öo]nder|kirim|g[ửu]i)\b
    |^(сбросить|отправить|оплатить|送信|购买|发送|支付|發送|전송|결제)";

/// Icon names that stand for the same without a word.
const ICONS: &str = r"(?i)(?:^|[\s\x22._-])(?:fa|fas|far|bi|icon|mdi|glyphicon|ion|ti|lucide|material|ri|pi|el-icon|anticon|octicon|feather|bx|la)[a-z]*[-_ ](?:[a-z]+[-_])?(trash|delete|bin|power|power-off|sign-out|logout|log-out|box-arrow-right|user-times|remove)";

fn compiled(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

static LEAVE_WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| compiled(LEAVE));
static DESTROY_WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| compiled(DESTROY));
static CHANGE_WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| compiled(CHANGE));
static ICON_NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| compiled(ICONS));

fn hit(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Whether a control with this name (or title) ends the session.
#[must_use]
pub fn ends_session(name: &str) -> bool {
    hit(&LEAVE_WORDS, name)
}

/// Whether a control with this name (or title) reads destructive. A link is held to fewer words: it mostly names a page.
#[must_use]
pub fn is_destructive(name: &str, is_link: bool) -> bool {
    hit(&DESTROY_WORDS, name) || ends_session(name) || (!is_link && hit(&CHANGE_WORDS, name))
}

/// Whether the class names of a control without words name a destructive icon.
#[must_use]
pub fn icon_is_destructive(classes: &str) -> bool {
    hit(&ICON_NAMES, classes)
}

/// Whether the class names of a control without words name an icon that ends the session.
#[must_use]
pub fn icon_ends_session(classes: &str) -> bool {
    let lower = classes.to_ascii_lowercase();
    ["sign-out", "signout", "logout", "log-out", "box-arrow-right", "power-off"].iter().any(|word| lower.contains(word))
}

const ADDRESS: &str = r"(?i)(?:^|[/_.=-])(delete|remove|destroy|purge|erase|drop|truncate|logout|log-out|log_out|signout|sign-out|sign_out|logoff|signoff|deactivate|revoke|unsubscribe|uninstall|reset|shutdown|reboot|empty-trash|trash)(?:$|[/_.=&-])";
static ADDRESS_WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| compiled(ADDRESS));

/// Whether an address reads destructive by its last path segments or a query value.
#[must_use]
pub fn address_is_destructive(url: &Url) -> bool {
    let segments: Vec<&str> = url.path().split('/').filter(|segment| !segment.is_empty()).collect();
    let tail = segments.len().saturating_sub(2);
    let in_path = segments[tail..]
        .iter()
        .any(|segment| !segment.contains('.') && hit(&ADDRESS_WORDS, segment) && !is_page_name(segment));
    let in_query = url.query_pairs().any(|(key, value)| {
        matches!(key.as_ref(), "action" | "do" | "cmd" | "op" | "task" | "method" | "_method")
            && hit(&ADDRESS_WORDS, &value)
            || value.is_empty() && hit(&ADDRESS_WORDS, &key)
    });
    in_path || in_query
}

/// A page's own name that merely contains the word (`logout-link`, `reset-styles-guide`): three or more words, or a noun
/// after the verb.
fn is_page_name(segment: &str) -> bool {
    let words: Vec<&str> = segment.split(['-', '_']).filter(|word| !word.is_empty()).collect();
    matches!(
        words.last(),
        Some(&("link" | "page" | "guide" | "demo" | "example" | "dialog" | "button" | "list" | "log" | "history"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destructive_names_in_many_languages_are_known() {
        for name in [
            "Delete",
            "Remove user",
            "Send",
            "Publish post",
            "Retire product",
            "Löschen",
            "Supprimer",
            "Eliminar",
            "Удалить",
            "削除",
            "删除",
            "삭제",
            "Pay now",
            "Cancel order",
            "Usuń",
            "حذف",
        ] {
            assert!(is_destructive(name, false), "{name}");
        }
    }

    #[test]
    fn a_link_that_names_a_page_is_not_destructive_and_one_that_deletes_is() {
        for name in ["Release notes", "Archive", "Reset password", "Send feedback"] {
            assert!(!is_destructive(name, true), "{name}");
        }
        for name in ["Delete account", "Log out", "Remove"] {
            assert!(is_destructive(name, true), "{name}");
        }
    }

    #[test]
    fn harmless_names_are_not_destructive() {
        for name in [
            "Edit",
            "Save",
            "Details",
            "Cancel",
            "Close",
            "Silver",
            "Payload",
            "Undelivered",
            "Settings",
            "Dropdown",
            "Resetting hours",
            "Sender name",
            "Export",
        ] {
            assert!(!is_destructive(name, false), "{name}");
        }
    }

    #[test]
    fn whatever_ends_the_session_is_known() {
        for name in [
            "Log out",
            "Logout",
            "Sign out",
            "Abmelden",
            "Se déconnecter",
            "ログアウト",
            "退出登录",
            "Выйти",
            "Cerrar sesión",
        ] {
            assert!(ends_session(name), "{name}");
        }
        for name in ["Log in", "Sign up", "Outlook", "Blog output", "Show tiles"] {
            assert!(!ends_session(name), "{name}");
        }
    }

    #[test]
    fn icons_without_words_are_known() {
        assert!(icon_is_destructive("btn fa fa-trash"));
        assert!(icon_is_destructive("bi bi-trash-fill"));
        assert!(icon_is_destructive("mdi mdi-delete"));
        assert!(!icon_is_destructive("fa fa-pencil"));
        assert!(icon_ends_session("fas fa-sign-out-alt"));
    }

    #[test]
    fn destructive_addresses_are_known_and_page_names_are_not() {
        let is = |text: &str| address_is_destructive(&Url::parse(text).expect("an address"));
        assert!(is("http://a.b/logout"));
        assert!(is("http://a.b/users/1/delete/"));
        assert!(is("http://a.b/x?action=delete"));
        assert!(!is("http://a.b/hit/logout-link/tiles"));
        assert!(!is("http://a.b/assets/reset.css"));
        assert!(!is("http://a.b/orders/1"));
    }
}
