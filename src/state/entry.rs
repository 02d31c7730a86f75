//! The entries of the three lists: a typed view for reading, the raw text for writing.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::raw::{Object, lenient};
use super::scan::{BUG_REPORT_FILE, Element, REPORT_FILE, REVIEW_STATUS, ROUTE, STATUS, TESTED_AT};
use super::text::Text;
use crate::maze::{OperationsCount, RouteStatus, open_enum};
use crate::route::Route;

/// How far an entry is indented in the file.
pub(super) const ENTRY_DEPTH: usize = 2;

open_enum! {
    /// Where the review of a completed route stands.
    ReviewStatus {
        /// Not reviewed yet.
        Pending = "review_pending",
        /// Reviewed; its bug report exists.
        Complete = "review_complete",
        /// The review failed.
        Failed = "review_failed",
    }
}

/// A tested route. What the lists are counted and compared by is read at once, the rest when somebody asks
/// ([`CompletedView`], by dereference).
#[derive(Clone, Debug)]
pub struct Completed {
    /// The route.
    pub route: Route,
    /// Where its review stands; absent counts as pending.
    pub review_status: Option<ReviewStatus>,
    /// Outcome.
    pub status: Option<RouteStatus>,
    text: Text,
    /// Where the values that are often looked at stand in the text; empty when absent.
    tested_at: Place,
    report_file: Place,
    bug_report_file: Place,
    view: OnceLock<Box<CompletedView>>,
}

/// A place inside an entry's text.
type Place = (u32, u32);

/// All that is known of a tested route.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct CompletedView {
    /// When the test ended.
    #[serde(default, deserialize_with = "lenient")]
    pub tested_at: Option<DateTime<Utc>>,
    /// Bugs in its report.
    #[serde(default, deserialize_with = "lenient")]
    pub bugs_count: Option<u64>,
    /// What was done.
    #[serde(default, deserialize_with = "lenient")]
    pub operations_count: Option<OperationsCount>,
    /// Folder of its screenshots, relative to the project.
    #[serde(default, deserialize_with = "lenient")]
    pub screenshots_dir: Option<String>,
    /// Its report, relative to the project.
    #[serde(default, deserialize_with = "lenient")]
    pub report_file: Option<String>,
    /// Brief summary for people.
    #[serde(default, deserialize_with = "lenient")]
    pub summary: Option<String>,
    /// Its bug report, relative to the project.
    #[serde(default, deserialize_with = "lenient")]
    pub bug_report_file: Option<String>,
    /// SHA-256 of the report as it was handed in (our own key).
    #[serde(default, deserialize_with = "lenient")]
    pub report_sha256: Option<String>,
}

impl Deref for Completed {
    type Target = CompletedView;

    fn deref(&self) -> &CompletedView {
        // The text was read before: whatever is odd in it counts as absent.
        self.view.get_or_init(|| Box::new(serde_json::from_str(self.text.as_str()).unwrap_or_default()))
    }
}

impl Completed {
    /// Where the review stands; an absent or unknown word counts as pending.
    #[must_use]
    pub fn review(&self) -> ReviewStatus {
        match &self.review_status {
            Some(ReviewStatus::Complete) => ReviewStatus::Complete,
            Some(ReviewStatus::Failed) => ReviewStatus::Failed,
            _ => ReviewStatus::Pending,
        }
    }

    /// Its report, without reading all of the entry.
    #[must_use]
    pub fn report_path(&self) -> Option<Cow<'_, str>> {
        self.string_at(self.report_file)
    }

    /// Its bug report, without reading all of the entry.
    #[must_use]
    pub fn bug_report_path(&self) -> Option<Cow<'_, str>> {
        self.string_at(self.bug_report_file)
    }

    /// When the test ended, when it may have been after this time: a glance at the usual form of a time spares most of
    /// them the reading.
    pub(super) fn tested_after(&self, at: DateTime<Utc>, at_text: &str) -> Option<DateTime<Utc>> {
        let text = self.string_at(self.tested_at)?;
        if is_usual_time(&text) && text.get(..SECONDS) < at_text.get(..SECONDS) {
            return None;
        }
        text.parse().ok().filter(|time| *time > at)
    }

    fn string_at(&self, place: Place) -> Option<Cow<'_, str>> {
        let text = self.text.as_str().get(place.0 as usize..place.1 as usize)?;
        string(text)
    }

    /// An entry that was found by a scan of its file.
    pub(super) fn scanned(file: &Arc<String>, element: Element) -> Option<Self> {
        let value = |field: usize| file.get(element.fields.get(field)?.clone());
        let route = Route::parse(&string(value(ROUTE)?)?).ok()?;
        let review_status = string(value(REVIEW_STATUS)?).map(|word| ReviewStatus::from(word.as_ref()));
        let status = string(value(STATUS)?).map(|word| RouteStatus::from(word.as_ref()));
        let start = element.text.start;
        let place = |field: usize| -> Option<Place> {
            let range = element.fields.get(field)?;
            let inside = |at: usize| u32::try_from(at.saturating_sub(start)).ok();
            Some((inside(range.start)?, inside(range.end)?))
        };
        Some(Self {
            route,
            review_status,
            status,
            tested_at: place(TESTED_AT)?,
            report_file: place(REPORT_FILE)?,
            bug_report_file: place(BUG_REPORT_FILE)?,
            text: Text::Read(Arc::clone(file), element.text),
            view: OnceLock::new(),
        })
    }
}

/// Bytes of a time up to its seconds.
const SECONDS: usize = 19;

/// Whether a time is written in UTC and in the usual form, so that the order of texts is the order of times.
fn is_usual_time(text: &str) -> bool {
    const FORM: &[u8; SECONDS] = b"0000-00-00T00:00:00";
    let fits = |(form, byte): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { form == byte };
    let rest = text.as_bytes().get(SECONDS..).unwrap_or_default();
    text.len() > SECONDS && FORM.iter().zip(text.as_bytes()).all(fits) && rest.ends_with(b"Z")
}

/// The string that this JSON text is; nothing when it is something else.
fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(text).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

/// A route that could not be tested.
#[derive(Clone, Debug, Deserialize)]
pub struct Failed {
    /// The route.
    pub route: Route,
    /// When it was given up.
    #[serde(default, deserialize_with = "lenient")]
    pub failed_at: Option<DateTime<Utc>>,
    /// Why.
    #[serde(default, deserialize_with = "lenient")]
    pub error: Option<String>,
    /// How often it has been tried again.
    #[serde(default, deserialize_with = "lenient")]
    pub retry_count: Option<u32>,
    /// The latest error.
    #[serde(default, deserialize_with = "lenient")]
    pub last_error: Option<String>,
    #[serde(skip)]
    text: Text,
}

/// A route that waits for its test.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The route.
    pub route: Route,
    text: Text,
}

impl Pending {
    pub(super) fn new(route: Route) -> Self {
        let text = super::raw::pretty(&route, 0).into();
        Self { route, text }
    }
}

/// One entry of the file with its text.
pub(super) trait Entry: Sized {
    fn read(text: Text) -> Result<Self, String>;
    fn raw(&self) -> &Text;

    fn text(&self) -> &str {
        self.raw().as_str()
    }

    /// An entry that was found by a scan of its file; nothing when it must be read the slow way.
    fn from_scan(file: &Arc<String>, element: Element) -> Option<Self> {
        Self::read(Text::Read(Arc::clone(file), element.text)).ok()
    }

    /// The same entry with some keys changed in place.
    fn edited(&self, edit: impl FnOnce(&mut Object)) -> Self
    where
        Self: Clone,
    {
        let mut object = Object::parse(self.text(), ENTRY_DEPTH).unwrap_or_else(|_| Object::new(ENTRY_DEPTH));
        edit(&mut object);
        // What we set is readable; if it were not, the entry stays as it was.
        Self::read(object.render().into()).unwrap_or_else(|_| self.clone())
    }
}

impl Entry for Completed {
    fn read(text: Text) -> Result<Self, String> {
        /// The keys that are read at once, as they stand in the text.
        #[derive(Deserialize)]
        struct Quick<'a> {
            route: Route,
            #[serde(default, deserialize_with = "lenient")]
            review_status: Option<ReviewStatus>,
            #[serde(default, deserialize_with = "lenient")]
            status: Option<RouteStatus>,
            #[serde(borrow, default)]
            tested_at: Option<&'a RawValue>,
            #[serde(borrow, default)]
            report_file: Option<&'a RawValue>,
            #[serde(borrow, default)]
            bug_report_file: Option<&'a RawValue>,
        }
        let whole = text.as_str();
        let quick: Quick<'_> = serde_json::from_str(whole).map_err(without_position)?;
        // Keys that stand twice are found here, not when somebody asks.
        let view: CompletedView = serde_json::from_str(whole).map_err(without_position)?;
        let place = |value: Option<&RawValue>| -> Place {
            let start = value.map_or(0, |value| value.get().as_ptr() as usize - whole.as_ptr() as usize);
            let end = start + value.map_or(0, |value| value.get().len());
            (u32::try_from(start).unwrap_or(0), u32::try_from(end).unwrap_or(0))
        };
        Ok(Self {
            route: quick.route,
            review_status: quick.review_status,
            status: quick.status,
            tested_at: place(quick.tested_at),
            report_file: place(quick.report_file),
            bug_report_file: place(quick.bug_report_file),
            view: OnceLock::from(Box::new(view)),
            text,
        })
    }

    fn raw(&self) -> &Text {
        &self.text
    }

    fn from_scan(file: &Arc<String>, element: Element) -> Option<Self> {
        Self::scanned(file, element)
    }
}

impl Entry for Failed {
    fn read(text: Text) -> Result<Self, String> {
        let mut entry: Self = serde_json::from_str(text.as_str()).map_err(without_position)?;
        entry.text = text;
        Ok(entry)
    }

    fn raw(&self) -> &Text {
        &self.text
    }
}

impl Entry for Pending {
    /// A bare string; an object with a route is read too.
    fn read(text: Text) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Wrapped {
            route: Route,
        }
        let whole = text.as_str();
        let route = if whole.starts_with('{') {
            serde_json::from_str::<Wrapped>(whole).map_err(without_position)?.route
        } else {
            serde_json::from_str::<Route>(whole).map_err(without_position)?
        };
        Ok(Self { route, text })
    }

    fn raw(&self) -> &Text {
        &self.text
    }

    fn from_scan(file: &Arc<String>, element: Element) -> Option<Self> {
        let text = Text::Read(Arc::clone(file), element.text);
        let route = Route::parse(&string(text.as_str())?).ok()?;
        Some(Self { route, text })
    }
}

/// The position inside an entry would mislead: the entry itself is named.
fn without_position(error: serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

/// What a transition writes of a completed route.
#[derive(Clone, Debug, Serialize)]
pub struct CompletedFacts {
    /// When the test ended.
    pub tested_at: DateTime<Utc>,
    /// Outcome.
    pub status: RouteStatus,
    /// Bugs in the report.
    pub bugs_count: u64,
    /// What was done.
    pub operations_count: OperationsCount,
    /// Folder of the screenshots, relative to the project.
    pub screenshots_dir: String,
    /// The report, relative to the project.
    pub report_file: String,
    /// Brief summary.
    pub summary: String,
    /// SHA-256 of the report's bytes.
    pub report_sha256: String,
}
