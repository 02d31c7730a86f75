//! What is wrong in the demo, and which controls can be renamed: the two tables that switches, pages and manifest share.

use crate::maze::{BugKind, Severity};

/// One planted bug.
pub(super) struct Planted {
    pub(super) id: &'static str,
    pub(super) route: &'static str,
    pub(super) kind: BugKind,
    /// Kinds under which an honest observer may report the same fault as well.
    pub(super) also: &'static [BugKind],
    pub(super) severity: Severity,
    /// Label of the control that shows it; `None` for a fault of the page.
    pub(super) label: Option<&'static str>,
    /// Labels of links that lead to it from anywhere.
    pub(super) reached_by: &'static [&'static str],
    pub(super) about: &'static str,
    pub(super) when_fixed: &'static str,
}

/// One control that can be renamed.
pub(super) struct Renamable {
    pub(super) id: &'static str,
    /// Route on which it stands; `*` for the shared navigation.
    pub(super) route: &'static str,
    pub(super) old: &'static str,
    pub(super) new: &'static str,
    /// Its test id before the rename.
    pub(super) test_id: Option<&'static str>,
    /// Its test id after the rename.
    pub(super) new_test_id: Option<&'static str>,
}

use BugKind::{
    BlankPage, BrokenImage, BrokenResource, Crash, DeadControl, ErrorMessage, Exception, FocusTrap, HttpError,
    LoginRedirect, NeverLoads,
};
use Severity::{Critical, Major, Minor};

macro_rules! planted {
    ($($id:literal, $route:literal, $kind:ident $(+ $also:ident)*, $severity:ident, $label:expr, $reached:expr, $about:literal, $fixed:literal;)*) => {
        /// Every planted bug.
        pub(super) const BUGS: &[Planted] = &[$(Planted {
            id: $id, route: $route, kind: $kind, also: &[$($also),*], severity: $severity, label: $label,
            reached_by: $reached, about: $about, when_fixed: $fixed,
        }),*];
    };
}

planted! {
    "dashboard-status-500", "/", HttpError + ErrorMessage, Critical, Some("System status"), &["System status"],
        "the linked document answers 500", "the document answers 200";
    "products-compare-dead", "/products", DeadControl, Minor, Some("Compare"), &[],
        "the enabled button does nothing at all", "a toast asks for two products";
    "products-print-label-dead", "/products", DeadControl, Minor, Some("Print label"), &[],
        "the enabled item of a row's menu does nothing; the menu stays open", "a toast says that the label was sent";
    "products-xml-preview-throws", "/products", Exception + DeadControl, Major, Some("Preview"), &[],
        "Export > More formats > XML…: the dialog's button throws a TypeError", "the dialog shows a preview";
    "product-photo-broken", "/products/1", BrokenImage + HttpError, Minor, None, &["Aurora Desk Lamp", "View details"],
        "the product's photo answers 404", "the photo is an image";
    "product-suppliers-500", "/products/1", HttpError + ErrorMessage, Major, Some("Suppliers"), &["Suppliers"],
        "the tab's request answers 500", "the tab shows two suppliers";
    "orders-recalculate-throws", "/orders", Exception + DeadControl, Major, Some("Recalculate totals"), &[],
        "the click throws a TypeError", "a toast says that totals were recalculated";
    "orders-refresh-500", "/orders", HttpError + ErrorMessage, Major, Some("Refresh"), &[],
        "the button's GET request answers 500", "the count of refreshes is shown";
    "customers-sync-rejects", "/customers", Exception + DeadControl, Major, Some("Sync contacts"), &[],
        "the click ends in an unhandled rejection", "a toast says that contacts are in sync";
    "customers-merge-trap", "/customers", FocusTrap + DeadControl, Major, Some("Merge duplicates"), &[],
        "neither its buttons nor Escape close the dialog", "all three close it";
    "wizard-postcode-rejects", "/wizard", Exception + DeadControl, Major, Some("Look up postcode"), &[],
        "second step of the wizard: the click ends in an unhandled rejection", "the city is shown";
    "settings-connection-toast", "/settings/general", ErrorMessage, Major, Some("Check connection"), &[],
        "the request answers 200, the page shows the error toast \"Something went wrong\"", "a toast says that it works";
    "billing-usage-spins", "/settings/billing", NeverLoads, Major, Some("Show usage"), &[],
        "the spinner never ends although the request has answered", "the usage is shown";
    "billing-invoice-error-page", "/settings/billing", ErrorMessage, Major, Some("Latest invoice"), &["Latest invoice"],
        "the linked page answers 200 and shows an error page", "the page shows the invoice";
    "billing-methods-login", "/settings/billing", LoginRedirect, Major, Some("Payment methods"), &["Payment methods"],
        "the linked page sends the browser to /login although the session is valid", "the page lists a card";
    "reports-load-throws", "/reports", Exception, Major, None, &["Reports"],
        "the page throws a TypeError while it loads", "nothing is thrown";
    "reports-drill-500", "/reports", HttpError + ErrorMessage, Major, Some("Drill down"), &[],
        "inside the frame: the button's GET request answers 500", "details are shown";
    "insights-blank", "/insights", BlankPage, Critical, None, &["Insights"],
        "the page stays blank: its script draws nothing", "the page draws its content";
    "widgets-script-missing", "/widgets", BrokenResource + HttpError, Minor, None, &["Widgets"],
        "a script of the own origin answers 404", "the script is there";
    "widgets-pin-note-throws", "/widgets", Exception + DeadControl, Major, Some("Pin note"), &[],
        "inside a closed shadow root: the click throws a TypeError", "a toast says that the note is pinned";
    "archive-never-fills", "/app#/archive", NeverLoads, Major, None, &["Archive"],
        "the table says Loading… for ever although the request has answered", "the table fills";
    "help-release-notes-404", "/help", HttpError + ErrorMessage, Major, Some("Release notes"), &["Release notes"],
        "the linked document answers 404", "the document answers 200";
    "activity-replay-alerts", "/activity", ErrorMessage, Major, Some("Replay last event"), &[],
        "the request answers 200, then an alert reports an error", "the page says that the event was replayed";
    "exports-build-freezes", "/exports", Crash + NeverLoads, Critical, Some("Build archive"), &[],
        "the click blocks the main thread in an endless loop", "a toast says that the archive is built";
}

macro_rules! renamable {
    ($($id:literal, $route:literal, $old:literal => $new:literal, $test:expr => $new_test:expr;)*) => {
        /// Every control that can be renamed.
        pub(super) const CONTROLS: &[Renamable] = &[$(Renamable {
            id: $id, route: $route, old: $old, new: $new, test_id: $test, new_test_id: $new_test,
        }),*];
    };
}

renamable! {
    "nav-customers", "*", "Customers" => "Clients", Some("nav-customers") => Some("nav-customers");
    "products-create", "/products", "Create product" => "New product", Some("create-product") => Some("create-product");
    "products-compare", "/products", "Compare" => "Compare side by side", None => None;
    "orders-refresh", "/orders", "Refresh" => "Reload list", None => None;
    "customers-sync", "/customers", "Sync contacts" => "Synchronise contacts", Some("sync") => Some("sync");
    "wizard-next", "/wizard", "Next" => "Continue", None => None;
    "settings-save", "/settings/general", "Save changes" => "Apply", Some("save-settings") => Some("apply-settings");
    "settings-connection", "/settings/general", "Check connection" => "Test connection", Some("check") => Some("check");
    "help-release-notes", "/help", "Release notes" => "What is new", Some("notes") => None;
}

/// The control of that id.
pub(super) fn control(id: &str) -> Option<&'static Renamable> {
    CONTROLS.iter().find(|control| control.id == id)
}
