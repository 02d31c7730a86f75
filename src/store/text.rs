//! A text file written whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use atomicwrites::{AtomicFile, OverwriteBehavior};

/// Writes a text file in one step, making its folders. For files that only this program writes and nobody updates.
///
/// # Errors
/// When the folder cannot be made or the file cannot be written; the error names the path.
pub fn write_text(path: &Path, text: &str) -> io::Result<()> {
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        fs_err::create_dir_all(dir)?;
    }
    AtomicFile::new(path, OverwriteBehavior::AllowOverwrite)
        .write(|file| file.write_all(text.as_bytes()))
        .map_err(io::Error::from)
}
