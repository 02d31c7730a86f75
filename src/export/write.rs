//! Puts exported files on the disk, without losing what somebody has edited.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::ExportError;
use crate::store;

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its name.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it stood there already, the same.
    pub unchanged: bool,
}

/// Writes the files into a directory, all of them or none.
///
/// # Errors
/// [`ExportError::InTheWay`] when a file of another content stands there and `force` is not given; [`ExportError::Store`].
pub fn write(directory: &Path, documents: &[Document], force: bool) -> Result<Vec<Written>, ExportError> {
    let mut written = Vec::new();
    let mut in_the_way = Vec::new();
    for document in documents {
        let path = directory.join(&document.name);
        let old = store::exists(&path) != store::FileKind::Missing;
        let unchanged = old && store::read_bytes(&path).is_ok_and(|bytes| bytes == document.text.as_bytes());
        if old && !unchanged {
            in_the_way.push(path.clone());
        }
        written.push(Written { path, unchanged });
    }
    if !in_the_way.is_empty() && !force {
        return Err(ExportError::InTheWay { paths: in_the_way });
    }
    store::create_dir(directory)?;
    for (document, done) in documents.iter().zip(&written) {
        if !done.unchanged {
            store::write_atomic(&done.path, document.text.as_bytes())?;
        }
    }
    Ok(written)
}
