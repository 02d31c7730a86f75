//! Which code of the application's scripts ran: Chromium's block coverage, added up over the pages of a route. Pure but for
//! the two commands at the end.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::session::Session;
use super::session_error::SessionError;

/// Code that ran, by script. A document's own inline scripts go by the document's address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeUse {
    /// Address and length of a script, and the pieces of it that ran: apart from each other, in order.
    scripts: BTreeMap<(String, u64), Vec<(u64, u64)>>,
    /// Length of each script by its id and address: a report tells it the first time only.
    lengths: BTreeMap<(String, String), u64>,
    /// Addresses of the scripts of the page itself.
    own: BTreeSet<String>,
}

/// How much of a script ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptUse {
    /// Address, without its fragment.
    pub url: String,
    /// Its length in UTF-16 units, bytes for a script of ASCII.
    pub length: u64,
    /// How much of it ran.
    pub used: u64,
}

impl CodeUse {
    /// How much ran of each script that the page itself has.
    #[must_use]
    pub fn scripts(&self) -> Vec<ScriptUse> {
        let mut all: BTreeMap<&str, ScriptUse> = BTreeMap::new();
        for ((url, length), ran) in self.scripts.iter().filter(|((url, _), _)| self.own.contains(url)) {
            let empty = || ScriptUse { url: url.clone(), length: 0, used: 0 };
            let script = all.entry(url).or_insert_with(empty);
            script.length += length;
            script.used += ran.iter().map(|(start, end)| end - start).sum::<u64>();
        }
        all.into_values().collect()
    }

    /// Adds what ran since the last time; `on_page` tells whether the page itself is shown, or one that it leads to.
    pub fn add(&mut self, ran: RanCode, on_page: bool) {
        for script in ran.0 {
            let end = script.ranges.iter().map(|range| range.end_offset).max().unwrap_or(0);
            let length = self.lengths.entry((script.id, script.url.clone())).or_insert(end);
            *length = end.max(*length);
            if on_page {
                self.own.insert(script.url.clone());
            }
            let known = self.scripts.entry((script.url, *length)).or_default();
            known.extend(that_ran(&script.ranges));
            *known = joined(std::mem::take(known));
        }
    }
}

/// Code of the application that ran, as the browser tells it.
#[derive(Debug, Default)]
pub struct RanCode(Vec<RanScript>);

#[derive(Debug)]
struct RanScript {
    id: String,
    url: String,
    ranges: Vec<Range>,
}

/// Pieces that touch or overlap become one.
fn joined(mut pieces: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    pieces.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::new();
    for (start, end) in pieces {
        match out.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ if start < end => out.push((start, end)),
            _ => {}
        }
    }
    out
}

/// Answer of `Profiler.takePreciseCoverage`.
#[derive(Deserialize)]
struct Taken {
    result: Vec<Script>,
}

#[derive(Deserialize)]
struct Script {
    #[serde(rename = "scriptId")]
    id: String,
    url: String,
    functions: Vec<Function>,
}

#[derive(Deserialize)]
struct Function {
    ranges: Vec<Range>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Range {
    start_offset: u64,
    end_offset: u64,
    count: u64,
}

/// The pieces that ran: of nested ranges the innermost one counts.
fn that_ran(ranges: &[Range]) -> Vec<(u64, u64)> {
    // Openings and closings in order: of several at one place the inner ones close first, the outer ones open first. Of
    // equal ones the later one is the inner one.
    let mut points: Vec<(u64, bool, u64, u64, u64)> = Vec::with_capacity(ranges.len() * 2);
    for (place, range) in (0..).zip(ranges.iter().filter(|range| range.start_offset < range.end_offset)) {
        let length = range.end_offset - range.start_offset;
        points.push((range.start_offset, true, u64::MAX - length, place, range.count));
        points.push((range.end_offset, false, length, u64::MAX - place, range.count));
    }
    points.sort_unstable();
    let mut stack: Vec<u64> = Vec::new();
    let mut ran = Vec::new();
    let mut from = 0;
    for (at, opens, _, _, count) in points {
        if stack.last().is_some_and(|count| *count > 0) && from < at {
            ran.push((from, at));
        }
        from = at;
        if opens {
            stack.push(count);
        } else {
            stack.pop();
        }
    }
    joined(ran)
}

fn read(taken: Taken, is_own: impl Fn(&Url) -> bool) -> RanCode {
    let scripts = taken.result.into_iter().filter_map(|script| {
        let mut url = Url::parse(&script.url).ok()?;
        if !matches!(url.scheme(), "http" | "https") || !is_own(&url) {
            return None;
        }
        url.set_fragment(None);
        let ranges: Vec<Range> = script.functions.into_iter().flat_map(|function| function.ranges).collect();
        (!ranges.is_empty()).then(|| RanScript { id: script.id, url: url.to_string(), ranges })
    });
    RanCode(scripts.collect())
}

impl Session {
    /// Begins to note which code runs in the window that we work in.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn watch_code(&self) -> Result<(), SessionError> {
        self.page_call("Profiler.enable", json!({})).await?;
        let how = json!({ "callCount": false, "detailed": true, "allowTriggeredUpdates": false });
        self.page_call("Profiler.startPreciseCoverage", how).await?;
        Ok(())
    }

    /// The code of the application that ran since the last call.
    ///
    /// # Errors
    /// [`SessionError::Cdp`], [`SessionError::Answer`].
    pub async fn code_that_ran(&self) -> Result<RanCode, SessionError> {
        let answer = self.page_call("Profiler.takePreciseCoverage", json!({})).await?;
        let taken: Taken = serde_json::from_value(answer)
            .map_err(|error| SessionError::Answer { url: String::new(), message: error.to_string() })?;
        Ok(read(taken, |url| self.policy().is_own(url)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(of: &[(u64, u64, u64)]) -> Vec<Range> {
        of.iter().map(|&(start_offset, end_offset, count)| Range { start_offset, end_offset, count }).collect()
    }

    #[test]
    fn of_nested_ranges_the_innermost_counts() {
        let script = ranges(&[(0, 100, 1), (10, 40, 0), (20, 30, 1), (60, 100, 0)]);
        assert_eq!(that_ran(&script), [(0, 10), (20, 30), (40, 60)]);
    }

    #[test]
    fn a_function_that_covers_its_script_wholly_lies_inside_it() {
        assert_eq!(that_ran(&ranges(&[(0, 50, 1), (0, 50, 0)])), []);
        assert_eq!(that_ran(&ranges(&[(0, 50, 1), (0, 20, 0), (20, 50, 1)])), [(20, 50)]);
    }

    /// A report of one script.
    fn ran(id: &str, url: &str, of: &[(u64, u64, u64)]) -> RanCode {
        let range =
            |&(start, end, count): &(u64, u64, u64)| json!({ "startOffset": start, "endOffset": end, "count": count });
        let ranges: Vec<_> = of.iter().map(range).collect();
        let taken = json!({ "result": [{ "scriptId": id, "url": url,
            "functions": [{ "functionName": "", "isBlockCoverage": true, "ranges": ranges }] }] });
        read(serde_json::from_value(taken).unwrap(), |url| url.host_str() == Some("a.b"))
    }

    #[test]
    fn what_ran_at_different_times_adds_up_and_never_twice() {
        let app = "http://a.b/app.js";
        let mut all = CodeUse::default();
        all.add(ran("1", &format!("{app}#x"), &[(0, 100, 1), (50, 90, 0)]), true);
        // A later report tells of what is new only, and not how long the script is.
        all.add(ran("1", app, &[(40, 60, 1)]), true);
        // The same file in another process.
        all.add(ran("9", app, &[(0, 100, 1), (20, 100, 0)]), true);
        all.add(ran("2", "http://elsewhere/x.js", &[(0, 100, 1)]), true);
        assert_eq!(all.scripts(), [ScriptUse { url: app.into(), length: 100, used: 70 }]);
    }

    #[test]
    fn scripts_of_a_page_that_this_one_leads_to_are_not_counted() {
        let mut all = CodeUse::default();
        all.add(ran("1", "http://a.b/one.js", &[(0, 10, 1)]), true);
        all.add(ran("2", "http://a.b/two.js", &[(0, 10, 1)]), false);
        all.add(ran("1", "http://a.b/one.js", &[(2, 4, 1)]), false);
        assert_eq!(all.scripts(), [ScriptUse { url: "http://a.b/one.js".into(), length: 10, used: 10 }]);
    }

    #[test]
    fn inline_scripts_of_one_page_are_told_apart() {
        let mut all = CodeUse::default();
        all.add(ran("1", "http://a.b/", &[(0, 10, 1)]), true);
        all.add(ran("2", "http://a.b/", &[(0, 30, 1), (0, 30, 0)]), true);
        assert_eq!(all.scripts(), [ScriptUse { url: "http://a.b/".into(), length: 40, used: 10 }]);
    }
}
