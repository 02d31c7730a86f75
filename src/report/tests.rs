//! Laws of the reports.

use super::fixture::{self, screenshot};
use super::*;

/// The page of a campaign with pictures, kept in the target folder to be looked at.
fn keep(name: &str, html: &str) -> std::path::PathBuf {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tmp/report");
    std::fs::create_dir_all(&dir).expect("a folder");
    let path = dir.join(name);
    std::fs::write(&path, html).expect("a page");
    path
}

fn picture(path: &str) -> Option<Vec<u8>> {
    static PICTURES: std::sync::LazyLock<Vec<Vec<u8>>> = std::sync::LazyLock::new(|| (0..7).map(screenshot).collect());
    let number = path.bytes().map(usize::from).sum::<usize>() % 7;
    (!path.contains("customers")).then(|| PICTURES[number].clone())
}

#[test]
fn the_page_of_a_small_campaign_is_written() {
    let html = final_html(&Aggregate::new(fixture::small()), picture);
    keep("small.html", &html);
    assert!(html.contains("BUG-orders-C1"));
}

#[test]
fn the_page_of_a_large_campaign_is_written() {
    let html = final_html(&Aggregate::new(fixture::large(100, 200)), picture);
    keep("large.html", &html);
    assert!(html.len() < 40_000_000, "{}", html.len());
}
