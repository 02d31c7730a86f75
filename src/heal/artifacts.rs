//! The page of a failing test where the report does not name it: older reporters and older Playwright leave it in the output
//! folder and say nothing. What is found must be of this run and of this test, or nothing is found.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::store;

/// Names of output folders, as Playwright's own and common configurations have them.
const USUAL: &[&str] = &["test-results", "e2e-results"];
const NAME: &str = "error-context.md";
/// The clock of a file system may be so much behind.
const SLACK: Duration = Duration::from_millis(20);

/// Where output folders usually lie: in the working directory and in those above it, up to `root`.
#[must_use]
pub fn usual_folders(directory: &Path, root: &Path) -> Vec<PathBuf> {
    let above = directory.ancestors().take_while(|folder| folder.starts_with(root));
    above.flat_map(|folder| USUAL.iter().map(|name| folder.join(name))).collect()
}

/// The page of a test of this file that failed since then, from these output folders. Playwright makes one folder for each
/// test, whose name begins with the file's; with several that could be it, none is.
#[must_use]
pub fn error_context(folders: &[PathBuf], file: &Path, since: SystemTime) -> Option<String> {
    let stem = file.file_name()?.to_str()?.split('.').next()?;
    let stem: String = stem.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
    let since = since.checked_sub(SLACK)?;
    let of_file = |name: &str| {
        let folder = Path::new(name).parent().and_then(Path::file_name).and_then(|folder| folder.to_str());
        folder.is_some_and(|folder| {
            folder == stem
                || folder.strip_prefix(&stem).is_some_and(|rest| rest.starts_with('-'))
                || folder.contains(&format!("-{stem}-"))
        })
    };
    let mut found = folders.iter().flat_map(|folder| {
        let names = store::names_below(folder).into_iter();
        names.filter(|name| name.ends_with(NAME) && of_file(name)).map(|name| folder.join(name))
    });
    let mut fresh = found.by_ref().filter(|path| store::modified(path).is_some_and(|time| time >= since));
    let (first, second) = (fresh.next()?, fresh.next());
    if second.is_some() {
        return None;
    }
    store::read_to_string(&first).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, name: &str) -> PathBuf {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, name).unwrap();
        path
    }

    #[test]
    fn the_folders_above_are_searched_up_to_the_root() {
        let all = usual_folders(Path::new("/w/app/web"), Path::new("/w/app"));
        assert_eq!(all.len(), 4);
        assert!(all.contains(&PathBuf::from("/w/app/test-results")), "{all:?}");
    }

    #[test]
    fn only_a_page_of_this_file_and_of_this_run_is_found_and_only_when_it_is_the_only_one() {
        let dir = tempfile::tempdir().unwrap();
        let began = SystemTime::now();
        let folders = [dir.path().join("test-results"), dir.path().join("missing")];
        let find = |since| error_context(&folders, Path::new("/w/tests/log-in.spec.ts"), since);
        put(dir.path(), "test-results/cart-starts/error-context.md");
        assert_eq!(find(began), None);
        put(dir.path(), "test-results/log-in-starts-chromium/error-context.md");
        assert_eq!(find(began).as_deref(), Some("test-results/log-in-starts-chromium/error-context.md"));
        assert_eq!(find(began + Duration::from_mins(1)), None);
        put(dir.path(), "test-results/log-in-leaves-chromium/error-context.md");
        assert_eq!(find(began), None);
    }
}
