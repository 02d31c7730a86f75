//! Evidence files: written once by one process, in a directory of its own; a crash loses them with the attempt that they
//! belong to. So no lock and no flush to the disk.

use std::path::{Path, PathBuf};

use fs_err as fs;

use crate::exit::{Exit, Explain};

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`", path.display())]
pub struct StoreError {
    action: &'static str,
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

impl Explain for StoreError {
    fn exit(&self) -> Exit {
        Exit::Engine
    }

    fn hint(&self) -> Option<String> {
        Some("`agent-test doctor` checks that the project can be written to".to_owned())
    }

    fn code(&self) -> &'static str {
        "store"
    }
}

/// Writes an evidence file.
///
/// # Errors
/// [`StoreError`] with the path.
pub fn write_evidence(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    fs::write(path, bytes).map_err(|source| StoreError { action: "write", path: path.to_owned(), source })
}

/// Makes an empty directory for evidence: made when missing, and emptied of the files with this extension.
///
/// # Errors
/// [`StoreError`] with the path.
pub fn fresh_evidence_dir(path: &Path, extension: &str) -> Result<(), StoreError> {
    let failed = |action| move |source| StoreError { action, path: path.to_owned(), source };
    fs::create_dir_all(path).map_err(failed("make"))?;
    for entry in fs::read_dir(path).map_err(failed("list"))? {
        let entry = entry.map_err(failed("list"))?;
        let file = entry.path();
        if file.extension().is_some_and(|found| found == extension) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::remove_file(&file).map_err(failed("empty"))?;
        }
    }
    Ok(())
}
