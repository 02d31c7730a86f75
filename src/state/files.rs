//! Files that are handed in from anywhere, and earlier versions that are kept.

use std::path::{Path, PathBuf};

use super::StateError;
use super::project::Project;
use crate::route::{Route, Slug};
use crate::store::{self, FileKind};

impl Project {
    /// Whether the two paths are one file.
    fn is_same(a: &Path, b: &Path) -> bool {
        matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
    }

    /// Brings a file that was handed in to its place in the campaign; what stood there is kept as an earlier version.
    pub(super) fn bring(&self, from: &Path, to: &Path, slug: &Slug) -> Result<(), StateError> {
        if Self::is_same(from, to) {
            return Ok(());
        }
        self.keep_earlier(to, slug.as_str())?;
        Ok(store::copy_into(from, to)?)
    }

    /// Copies a file to `.agent-test/earlier/{folder}/`, numbered; nothing to do when it is missing. Gives back the copy.
    pub(super) fn keep_earlier(&self, path: &Path, folder: &str) -> Result<Option<PathBuf>, StateError> {
        if store::exists(path) != FileKind::File {
            return Ok(None);
        }
        let folder = self.own_dir().join("earlier").join(folder);
        let taken = store::file_names(&folder)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut number = taken.len() / 2 + 1;
        while taken.contains(&format!("{number}-{name}")) {
            number += 1;
        }
        let copy = folder.join(format!("{number}-{name}"));
        store::copy_into(path, &copy)?;
        Ok(Some(copy))
    }

    /// A file that is handed in exists, is a file and is not empty.
    pub(super) fn require_file(doing: &'static str, route: &Route, path: &Path) -> Result<(), StateError> {
        let problem = match store::kind(path)? {
            FileKind::File => return Ok(()),
            FileKind::Missing => "does not exist",
            FileKind::Directory | FileKind::Special => "is not a file",
        };
        Err(StateError::BadFile { doing, route: route.clone(), path: path.into(), problem })
    }
}
