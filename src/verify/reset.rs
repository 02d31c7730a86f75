//! The user's command that brings the application into its first state.

use std::io::{Read, Seek, SeekFrom};
use std::process::Stdio;
use std::time::Duration;

use crate::child::ProcessGroup;

/// The reset command may take this long.
const RESET_LIMIT: Duration = Duration::from_mins(2);

/// Brings the application into its first state, by the user's command. What it leaves running in the background is not
/// waited for.
pub(super) async fn reset(command: &str) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("the reset command cannot be started: {error}");
    let mut said = tempfile::tempfile().map_err(cannot)?;
    let mut shell = tokio::process::Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::null());
    shell.stderr(said.try_clone().map_err(cannot)?).process_group(0);
    let mut shell = shell.spawn().map_err(cannot)?;
    // Cut off, it dies with its attempt; ended, what it left running is the user's.
    let group = ProcessGroup::of(&shell);
    let Ok(status) = tokio::time::timeout(RESET_LIMIT, shell.wait()).await else {
        return Err(format!("the reset command did not end within {} s", RESET_LIMIT.as_secs()));
    };
    group.keep();
    let status = status.map_err(cannot)?;
    if status.success() {
        return Ok(());
    }
    let mut tail = Vec::new();
    let end = said.seek(SeekFrom::End(0)).unwrap_or(0);
    let _ = said.seek(SeekFrom::Start(end.saturating_sub(4096)));
    let _ = said.read_to_end(&mut tail);
    let tail = String::from_utf8_lossy(&tail);
    let last = tail.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(format!("the reset command ended with {status}: {}", last.trim()))
}
