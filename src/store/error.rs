//! What goes wrong at the disk.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::exit::{Exit, Explain};

/// What goes wrong at the disk. Every variant names the file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file could not be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be written; what stood there before still stands.
    #[error("cannot write `{}`, what stood there is unchanged: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The new file stands, but the directory could not be synced.
    #[error("`{}` was written, but it is unknown whether it would survive a power loss: {source}", path.display())]
    NotDurable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A copy stands, but its directory could not be synced; what it was made for was not begun.
    #[error("`{}` was copied, but it is unknown whether the copy would survive a power loss: {source}", path.display())]
    CopyNotDurable {
        /// The copy.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process held the lock for longer than we wait.
    #[error("waited {} s for the lock `{}`, which another process holds", waited.as_secs_f32(), path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long we waited.
        waited: Duration,
    },
    /// A symlink leads to somewhere else.
    #[error("`{}` is a symbolic link that leads out of its directory, to `{}`", path.display(), target.display())]
    Symlink {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
}

impl StoreError {
    /// The kind of the failure below.
    fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Read { source, .. }
            | Self::Write { source, .. }
            | Self::NotDurable { source, .. }
            | Self::CopyNotDurable { source, .. } => Some(source.kind()),
            Self::Locked { .. } | Self::Symlink { .. } => None,
        }
    }
}

impl Explain for StoreError {
    fn exit(&self) -> Exit {
        match self {
            // The caller named a file that is missing, is none, or holds no text.
            Self::Read { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::InvalidData
                        | io::ErrorKind::InvalidInput
                        | io::ErrorKind::IsADirectory
                        | io::ErrorKind::NotADirectory
                ) =>
            {
                Exit::Usage
            }
            Self::Symlink { .. } => Exit::Usage,
            _ => Exit::Engine,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match (self, self.kind()) {
            (Self::NotDurable { .. }, _) => "the change is applied; doing it again changes nothing".to_owned(),
            (Self::CopyNotDurable { .. }, _) => "nothing else was changed; do the same again".to_owned(),
            (Self::Locked { .. }, _) => {
                format!("wait for the other command to end, or wait longer by setting {}", crate::env::LOCK_TIMEOUT)
            }
            (Self::Symlink { .. }, _) => "put a plain file in its place".to_owned(),
            (_, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)) => {
                "free some space and do the same again".to_owned()
            }
            (Self::Write { .. }, Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)) => {
                "the project is read-only here: make the directory and the file writable, then do the same again"
                    .to_owned()
            }
            (Self::Read { .. }, Some(io::ErrorKind::NotFound)) => "check the file name".to_owned(),
            _ => return None,
        })
    }

    fn code(&self) -> &'static str {
        match (self, self.kind()) {
            (Self::NotDurable { .. }, _) => "not_durable",
            (Self::CopyNotDurable { .. }, _) => "copy_not_durable",
            (Self::Locked { .. }, _) => "locked",
            (Self::Symlink { .. }, _) => "symlink",
            (Self::Read { .. }, Some(io::ErrorKind::NotFound)) => "no_such_file",
            (Self::Read { .. }, _) => "read_failed",
            (_, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)) => "no_space",
            (_, Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)) => "read_only",
            _ => "write_failed",
        }
    }
}
