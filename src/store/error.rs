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
        self.source_error().map(io::Error::kind)
    }

    fn source_error(&self) -> Option<&io::Error> {
        match self {
            Self::Read { source, .. }
            | Self::Write { source, .. }
            | Self::NotDurable { source, .. }
            | Self::CopyNotDurable { source, .. } => Some(source),
            Self::Locked { .. } | Self::Symlink { .. } => None,
        }
    }

    /// Whether symbolic links lead to each other; the library has no stable word for it.
    fn is_loop(&self) -> bool {
        self.source_error().and_then(io::Error::raw_os_error) == Some(rustix::io::Errno::LOOP.raw_os_error())
    }
}

impl Explain for StoreError {
    fn exit(&self) -> Exit {
        use io::ErrorKind as Kind;
        match (self, self.kind()) {
            // A link that leads out; what the caller named is missing, is no file, or holds no text.
            (Self::Symlink { .. }, _)
            | (
                Self::Read { .. },
                Some(
                    Kind::NotFound
                    | Kind::InvalidData
                    | Kind::InvalidInput
                    | Kind::InvalidFilename
                    | Kind::IsADirectory
                    | Kind::NotADirectory
                    | Kind::FileTooLarge,
                ),
            )
            // Something else stands where the file or directory has to be.
            | (
                Self::Write { .. },
                Some(Kind::IsADirectory | Kind::NotADirectory | Kind::InvalidInput | Kind::InvalidFilename),
            ) => Exit::Usage,
            (Self::Read { .. } | Self::Write { .. }, _) if self.is_loop() => Exit::Usage,
            _ => Exit::Engine,
        }
    }

    fn hint(&self) -> Option<String> {
        use io::ErrorKind as Kind;
        let text = match (self, self.kind()) {
            (Self::NotDurable { .. }, _) => "the change is applied; doing it again changes nothing",
            (Self::CopyNotDurable { .. }, _) => "nothing else was changed; do the same again",
            (Self::Locked { .. }, _) => {
                return Some(format!(
                    "wait for the other command to end, or wait longer by setting {}",
                    crate::env::LOCK_TIMEOUT
                ));
            }
            (Self::Symlink { .. }, _) => "put a plain file in its place",
            _ if self.is_loop() => "the links lead to each other: put a plain file or directory in the link's place",
            (Self::Read { path, .. }, Some(Kind::NotFound)) if super::dangling(path).is_some() => {
                "put the link's target back, or a plain file in the link's place"
            }
            (Self::Read { .. }, Some(Kind::NotFound)) => "check the file name",
            (Self::Read { .. }, Some(Kind::IsADirectory)) => "name a file in it",
            (Self::Read { .. }, Some(Kind::NotADirectory)) => "a part of the path is a file: check the path",
            (Self::Read { .. }, Some(Kind::InvalidInput)) => "name a plain file",
            (Self::Read { .. }, Some(Kind::InvalidData)) => "save the file as UTF-8, or name another one",
            (Self::Read { .. }, Some(Kind::FileTooLarge)) => "name a smaller file",
            (Self::Read { .. }, Some(Kind::PermissionDenied)) => "make it readable, then do the same again",
            (_, Some(Kind::InvalidFilename)) => {
                "the name is too long or has a letter that no file may have: shorten it"
            }
            (_, Some(Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge)) => {
                "free some space and do the same again"
            }
            (Self::Write { .. }, Some(Kind::PermissionDenied | Kind::ReadOnlyFilesystem)) => {
                "the project is read-only here: make the directory and the file writable, then do the same again"
            }
            (Self::Write { .. }, Some(Kind::NotADirectory)) => {
                "move away what stands there, or name another place; then do the same again"
            }
            (Self::Write { .. }, Some(Kind::IsADirectory)) => {
                "a directory stands where the file has to be: move it away, or name another file"
            }
            _ => return None,
        };
        Some(text.to_owned())
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
