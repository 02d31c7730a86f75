//! Runs the user's test command: in a process group of its own, with a time limit, and with a reporter of ours beside theirs.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::error::HealError;
use super::report::Report;
use crate::child::ProcessGroup;

/// Takes the report; Playwright loads it beside the reporters of the user's configuration.
const REPORTER: &str = include_str!("reporter.js");
/// What a run of a shard is told: tests of the same file, also in other projects, may run in another one, unseen.
pub(crate) const SHARDED: &str = "it runs one shard of the tests, so what the others check would stay unproved; leave the shard away (`--shard`, or `shard` of the configuration): only this file is run";
/// So much of what the command says is kept.
const TAIL: usize = 8 << 10;

/// Runs the tests. The one seam to the test command: everything else of the loop can be tried without it.
pub trait TestRunner: Send + Sync {
    /// Runs them once.
    fn run<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, Result<TestRun, HealError>>;
}

/// What one run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestRun {
    /// The report; none: it ended without one.
    pub report: Option<Report>,
    /// Whether the command ended with 0.
    pub succeeded: bool,
    /// Whether its time was up.
    pub timed_out: bool,
    /// The end of what it said.
    pub output: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// A command of the user's.
#[derive(Clone, Debug)]
pub struct TestCommand {
    words: Vec<String>,
    directory: PathBuf,
    limit: Duration,
}

impl TestCommand {
    /// A command from its words; one word with blanks in it is a line for the shell. `{file}` stands for the test file.
    ///
    /// # Errors
    /// [`HealError::Command`] for an empty command, for one that updates snapshots by itself, and for one that runs a shard.
    pub fn new(words: Vec<String>, directory: PathBuf, limit: Duration) -> Result<Self, HealError> {
        if words.iter().all(|word| word.trim().is_empty()) {
            return Err(HealError::Command("it is empty".to_owned()));
        }
        let updates = |word: &str| {
            word == "-u"
                || (word.starts_with("--update-snapshots") && !word.ends_with("=none") && !word.ends_with("=missing"))
        };
        if words.iter().flat_map(|word| word.split_whitespace()).any(updates) {
            return Err(HealError::Command(
                "it updates snapshots, so it could never fail; baselines are promoted one by one after review"
                    .to_owned(),
            ));
        }
        let shards = |word: &str| word == "--shard" || word.starts_with("--shard=");
        if words.iter().flat_map(|word| word.split_whitespace()).any(shards) {
            return Err(HealError::Command(SHARDED.to_owned()));
        }
        Ok(Self { words, directory, limit })
    }

    /// A line for the shell that may update snapshots: what it writes is held to a review.
    ///
    /// # Errors
    /// [`HealError::Command`] for an empty line.
    pub fn refreshing(line: &str, directory: PathBuf, limit: Duration) -> Result<Self, HealError> {
        if line.trim().is_empty() {
            return Err(HealError::Command("the update command is empty".to_owned()));
        }
        // A blank at its end makes it a line in any case.
        Ok(Self { words: vec![format!("{line} ")], directory, limit })
    }

    fn command(&self, file: &Path) -> Command {
        let shown = file.strip_prefix(&self.directory).unwrap_or(file).to_string_lossy().into_owned();
        let mut command = match self.words.as_slice() {
            [line] if line.contains(char::is_whitespace) => {
                let mut shell = Command::new("sh");
                // The name is a value of the shell, never a part of its program.
                shell.arg("-c").arg(line.replace("{file}", "\"$1\"")).arg("agent-test-heal").arg(&shown);
                shell
            }
            words => {
                let mut words = words.iter().map(|word| word.replace("{file}", &shown));
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words);
                command
            }
        };
        command.current_dir(&self.directory);
        command
    }
}

impl TestRunner for TestCommand {
    fn run<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, Result<TestRun, HealError>> {
        Box::pin(async move {
            let place = tempfile::tempdir()
                .map_err(|error| HealError::Command(format!("there is no temporary directory: {error}")))?;
            let (reporter, report) = (place.path().join("reporter.js"), place.path().join("report.json"));
            crate::store::write_unsynced(&reporter, REPORTER.as_bytes())?;
            let mut command = self.command(file);
            command.env("PW_TEST_REPORTER", &reporter).env("AGENT_TEST_HEAL_REPORT", &report);
            command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let began = Instant::now();
            let mut child = command
                .spawn()
                .map_err(|error| HealError::Command(format!("`{}` does not start: {error}", self.words.join(" "))))?;
            // Its browsers and servers end with it, and with us.
            let group = ProcessGroup::of(&child);
            let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
            let talk = async { tokio::join!(tail(stdout), tail(stderr)) };
            let ended = tokio::time::timeout(self.limit, async {
                // Who inherited the pipes may hold them open for ever; the command's own end counts.
                let mut talk = Box::pin(talk);
                tokio::select! {
                    status = child.wait() => {
                        let said = tokio::time::timeout(Duration::from_secs(2), &mut talk).await;
                        (status.ok(), said.unwrap_or_default())
                    }
                    said = &mut talk => (child.wait().await.ok(), said),
                }
            })
            .await;
            drop(group);
            let timed_out = ended.is_err();
            let (status, (out, err)) = ended.unwrap_or_default();
            let text = crate::store::read_to_string(&report).ok().filter(|_| !timed_out);
            let report = text.map(|text| Report::parse(&text)).transpose().map_err(HealError::NoReport)?;
            Ok(TestRun {
                report,
                succeeded: status.is_some_and(|status| status.success()),
                timed_out,
                output: super::report::plain(&format!("{out}{err}")),
                duration_ms: began.elapsed().as_millis() as u64,
            })
        })
    }
}

/// Reads to the end and keeps the last of it.
async fn tail(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let Some(mut stream) = stream else { return String::new() };
    let mut piece = vec![0; 8 << 10];
    while let Ok(count) = stream.read(&mut piece).await {
        if count == 0 {
            break;
        }
        kept.extend(piece.get(..count).unwrap_or_default());
        let surplus = kept.len().saturating_sub(TAIL);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_updates_snapshots_is_refused() {
        for line in [
            "npx playwright test -u",
            "npx playwright test --update-snapshots",
            "npx playwright test --update-snapshots=all",
        ] {
            assert!(
                TestCommand::new(vec![line.to_owned()], PathBuf::from("."), Duration::from_secs(1)).is_err(),
                "{line}"
            );
        }
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_ended_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("pid");
        let line = format!("sleep 600 & echo $! > {}; wait", mark.display());
        let command = TestCommand::new(vec![line], dir.path().to_path_buf(), Duration::from_millis(700)).unwrap();
        let run = command.run(Path::new("a.spec.ts")).await.unwrap();
        assert!(run.timed_out && !run.succeeded && run.report.is_none());
        let child: u32 = std::fs::read_to_string(mark).unwrap().trim().parse().unwrap();
        let gone = || crate::store::process_stat(child).is_none_or(|stat| !stat.runs);
        let start = Instant::now();
        while !gone() && start.elapsed() < Duration::from_secs(5) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(gone());
    }

    #[tokio::test]
    async fn the_file_is_a_value_of_the_shell() {
        let dir = tempfile::tempdir().unwrap();
        let command =
            TestCommand::new(vec!["echo got {file}".to_owned()], dir.path().to_path_buf(), Duration::from_secs(9))
                .unwrap();
        let run = command.run(&dir.path().join("a; echo b.spec.ts")).await.unwrap();
        assert_eq!(run.output.trim(), "got a; echo b.spec.ts");
        assert!(run.succeeded);
    }
}
