//! Moves a trace to another address of the same application. Pure.

use url::Url;

use crate::trace::{Tool, TraceStep};

/// The steps with every address of `from` moved to `to`; addresses of other origins stay.
#[must_use]
pub fn rebase(steps: &[TraceStep], from: &Url, to: &Url) -> Vec<TraceStep> {
    steps
        .iter()
        .map(|step| TraceStep {
            value: match (&step.tool, &step.value) {
                (Tool::Goto, Some(value)) => Some(moved(value, from, to)),
                (_, value) => value.clone(),
            },
            url_before: moved(&step.url_before, from, to),
            url_after: moved(&step.url_after, from, to),
            ..step.clone()
        })
        .collect()
}

fn moved(text: &str, from: &Url, to: &Url) -> String {
    let Ok(mut url) = Url::parse(text).or_else(|_| from.join(text)) else { return text.to_owned() };
    if text.is_empty() || url.origin() != from.origin() {
        return text.to_owned();
    }
    // An application may live below a path, and another one at another path.
    let (below, above) = (from.path().trim_end_matches('/'), to.path().trim_end_matches('/'));
    let path = url.path().strip_prefix(below).map_or_else(|| url.path().to_owned(), |rest| format!("{above}{rest}"));
    if url.set_scheme(to.scheme()).is_err() || url.set_host(to.host_str()).is_err() || url.set_port(to.port()).is_err()
    {
        return text.to_owned();
    }
    url.set_path(&path);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, from: &str, to: &str) -> String {
        moved(text, &Url::parse(from).unwrap(), &Url::parse(to).unwrap())
    }

    #[test]
    fn an_own_address_moves_with_its_path_query_and_fragment() {
        assert_eq!(at("http://a.b:81/x?q=1#/r", "http://a.b:81", "https://c.d"), "https://c.d/x?q=1#/r");
        assert_eq!(at("http://a.b/app/x", "http://a.b/app/", "http://a.b/new/"), "http://a.b/new/x");
        assert_eq!(at("/x", "http://a.b/", "http://c.d/"), "http://c.d/x");
    }

    #[test]
    fn another_origin_stays_where_it_is() {
        assert_eq!(at("https://other.host/x", "http://a.b", "http://c.d"), "https://other.host/x");
        assert_eq!(at("http://a.b:82/x", "http://a.b:81", "http://c.d"), "http://a.b:82/x");
        assert_eq!(at("about:blank", "http://a.b", "http://c.d"), "about:blank");
    }
}
