//! The one door to the disk: atomic writes, the cross-process lock, the clock and ids behind them.
//!
//! Why a room of its own: every file that another process may also change is changed by one sequence, so that a reader
//! sees the old file or the new one and nothing in between, whatever is killed when.
//!
//! Invariants
//! * A write goes to a temporary file in the target's directory, is synced, renamed over the target by `atomicwrites`,
//!   and the directory is synced. Before the rename the old file stands; after it the new one does
//!   ([`StoreError::NotDurable`]). Its own temporary directory would cost a second sync, and tell nothing of the moment.
//! * A call that a signal interrupts is made again.
//! * Mode and owner of a file that is replaced are kept. A symlink that leads out of its directory is not followed.
//! * What is no plain file is not read: a directory, a pipe, a device, a link that leads nowhere or round, a file beyond all
//!   measure; and the error says which it is.
//! * The lock is the kernel's, on a file that is never deleted: a dead process leaves nothing locked.
//! * Litter of a killed writer is swept only under the lock, or when it is old.

mod append;
mod boot;
mod clock;
mod digest;
mod error;
mod evidence;
mod files;
mod ids;
mod lock;
mod owner;
mod process;
mod write;

pub use append::{LogEnd, append_line, log_end, size, write_unsynced};
pub use boot::{BootTime, host_name};
pub use clock::Clock;
pub use digest::{DigestSet, quick_digest, sha256_hex, table_digest};
pub use error::StoreError;
pub use evidence::{fresh_evidence_dir, remove_tree, replace_evidence, write_evidence};
pub use files::{
    FileKind, Listing, copy_into, create_dir, dangling, exists, file_names, free_name, kind, modified, names_below,
    no_directory, read_bytes, read_to_string, read_to_string_if_exists, remove_empty_dir, remove_file, write_dated,
};
pub use ids::Ids;
pub use lock::{DEFAULT_LOCK_TIMEOUT, FileLock, lock_timeout};
pub use owner::Owner;
pub use process::{ProcessStat, process_stat};
pub use write::{make_durable, sweep, write_atomic, write_atomic_parts, write_private};
