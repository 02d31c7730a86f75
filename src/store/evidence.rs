//! Evidence files: written once by one process, in a directory of its own; a crash loses them with the attempt that they
//! belong to. So no lock and no flush to the disk.

use std::path::Path;

use fs_err as fs;

use super::StoreError;

/// Writes an evidence file.
///
/// # Errors
/// [`StoreError::Write`] with the path.
pub fn write_evidence(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    fs::write(path, bytes).map_err(|source| StoreError::Write { path: path.to_owned(), source })
}

/// Makes an empty directory for evidence: made when missing, and emptied of the files with this extension.
///
/// # Errors
/// [`StoreError::Write`] with the path.
pub fn fresh_evidence_dir(path: &Path, extension: &str) -> Result<(), StoreError> {
    let failed = |source| StoreError::Write { path: path.to_owned(), source };
    fs::create_dir_all(path).map_err(failed)?;
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let file = entry.path();
        if file.extension().is_some_and(|found| found == extension)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            fs::remove_file(&file).map_err(failed)?;
        }
    }
    Ok(())
}

/// Puts the files with this extension from one directory in place of those in another, which is made when missing; other
/// files there stay. The first directory is gone afterwards.
///
/// # Errors
/// [`StoreError::Write`] with the path.
pub fn replace_evidence(from: &Path, to: &Path, extension: &str) -> Result<(), StoreError> {
    fresh_evidence_dir(to, extension)?;
    for name in super::file_names(from)? {
        let (old, new) = (from.join(&name), to.join(&name));
        // Another file system takes no renaming.
        fs::rename(&old, &new)
            .or_else(|_| fs::copy(&old, &new).map(|_| ()))
            .map_err(|source| StoreError::Write { path: new.clone(), source })?;
    }
    remove_tree(from)
}

/// Removes a directory of evidence with everything in it.
///
/// # Errors
/// [`StoreError::Write`] with the path.
pub fn remove_tree(path: &Path) -> Result<(), StoreError> {
    fs::remove_dir_all(path).map_err(|source| StoreError::Write { path: path.to_owned(), source })
}
