//! The pages. Each file holds a page's HTML and, beside it, the list of its interactive elements.

pub(super) mod activity;
pub(super) mod customers;
pub(super) mod dashboard;
pub(super) mod exports;
pub(super) mod help;
pub(super) mod insights;
pub(super) mod login;
pub(super) mod mailbox;
pub(super) mod orders;
pub(super) mod product;
pub(super) mod products;
pub(super) mod reports;
pub(super) mod settings;
pub(super) mod small;
pub(super) mod widgets;
pub(super) mod wizard;
