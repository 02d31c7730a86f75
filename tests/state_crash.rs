//! Every system call of a transition that touches the project is a stop: the process is killed there, or the call fails.
//!
//! The built binary runs under `strace`. A first run tells the calls; each further run injects one fault at one of them.
//! What must hold is told by that run's own trace: whether the state was renamed into place or not.
//!
//! `make test` kills at every call and lets one error occur at each; `make fault-table` (`AGENT_TEST_FAULTS=all`) lets
//! every error occur at each and prints the table.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_test::state::Project;
use agent_test::store::Clock;

use crate::campaign_kit::{campaign, complete, report};
use crate::sandbox::{Answer, Sandbox};

const STATE: &str = ".monkey-test-state.json";

/// The calls that can touch a file.
const CALLS: &str = "open,openat,openat2,creat,read,pread64,readv,write,pwrite64,writev,fsync,fdatasync,sync_file_range,\
                     rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,chmod,fchmod,fchmodat,chown,fchown,\
                     fchownat,lchown,flock,fcntl,close,stat,lstat,fstat,newfstatat,statx,access,faccessat,faccessat2,\
                     getdents64,readlink,readlinkat,lseek,truncate,ftruncate,fallocate,link,linkat,symlink,symlinkat,\
                     copy_file_range,sendfile,utimensat";

const ERRORS: [&str; 4] = ["EINTR", "ENOSPC", "EIO", "EACCES"];

/// A transition: what is there before, and the command.
struct Case {
    name: &'static str,
    template: Sandbox,
    arguments: Vec<String>,
}

fn cases() -> Vec<Case> {
    let case = |name, template, arguments: &[&str]| Case {
        name,
        template,
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
    };
    let started = || campaign(&["/a", "/b", "/c"]);
    let with_report = started();
    with_report.write("monkey-test-screenshots/a/01-page.png", "png");
    with_report.write("in/a.json", &report("/a").to_string());
    with_report.write("monkey-test-reports/a.json", &report("/a").to_string().replace("one button", "an earlier one"));
    let failed = started();
    failed.run(&["fail", "/a", "--error", "before"]).exits(0);
    let tested = started();
    complete(&tested, "/a");
    tested.write("monkey-test-reports/a-bugs.md", "# Bugs\n");
    vec![
        case(
            "init",
            Sandbox::new(),
            &["init", "--base-url", "http://h", "--project", "p", "--route", "/a", "--route", "/b"],
        ),
        case("claim", started(), &["claim", "/a", "--worker", "w"]),
        case("complete", with_report, &["complete", "/a", "--report", "{project}/in/a.json"]),
        case("fail", started(), &["fail", "/a", "--error", "e"]),
        case("retry", failed, &["retry", "/a"]),
        case(
            "review complete",
            tested,
            &["review", "complete", "/a", "--bug-report", "{project}/monkey-test-reports/a-bugs.md"],
        ),
    ]
}

/// A call of a trace.
#[derive(Clone, Debug)]
struct Call {
    name: String,
    /// Which call of this name it is in its thread, from 1: strace counts so.
    number: usize,
    line: String,
}

impl Call {
    fn succeeded(&self) -> bool {
        self.line.rsplit_once(" = ").is_some_and(|(_, answer)| answer.starts_with(|c: char| c.is_ascii_digit()))
    }
}

/// One run of a command in a copy of the template.
struct Run {
    project: Sandbox,
    answer: Answer,
    calls: Vec<Call>,
}

fn program(project: &Path, arguments: &[String]) -> Vec<String> {
    let project = project.to_str().unwrap();
    let words = arguments.iter().map(|word| word.replace("{project}", project));
    std::iter::once(env!("CARGO_BIN_EXE_agent-test").to_owned()).chain(words).collect()
}

fn command(project: &Path, words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        // Not in the project: else every call that names its working directory would seem to touch it.
        .current_dir("/")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/nonexistent")
        .env("AGENT_TEST_PROJECT_DIR", project)
        .env("AGENT_TEST_INTERNAL_NOW", "2030-01-01T00:00:00Z")
        .env("CI", "true")
        .stdin(Stdio::null());
    command
}

fn run(case: &Case, inject: Option<&str>) -> Run {
    let project = case.template.copy();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut words: Vec<String> = ["strace", "-f", "-y", "-qq", "-s", "16", "-e"].map(str::to_owned).into();
    words.extend([format!("trace={CALLS}"), "-o".to_owned(), log.path().to_str().unwrap().to_owned()]);
    if let Some(inject) = inject {
        words.extend(["-e".to_owned(), format!("inject={inject}")]);
    }
    words.extend(program(project.path(), &case.arguments));
    let answer = command(project.path(), &words).output().expect("strace starts").into();
    let calls = calls(&std::fs::read_to_string(log.path()).unwrap());
    Run { project, answer, calls }
}

fn calls(log: &str) -> Vec<Call> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        let Some((name, _)) = rest.split_once('(') else { continue };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            continue;
        }
        let number = counts.entry((thread.to_owned(), name.to_owned())).or_default();
        *number += 1;
        calls.push(Call { name: name.to_owned(), number: *number, line: rest.to_owned() });
    }
    calls
}

impl Run {
    fn touching(&self) -> impl Iterator<Item = &Call> {
        let project = self.project.path().to_str().unwrap().to_owned();
        self.calls.iter().filter(move |call| call.line.contains(&project))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.project.file(name)
    }

    /// The state's bytes, without what is drawn anew in each run.
    fn state(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.file(STATE)).ok()?;
        let mut out = String::new();
        for line in text.lines().filter(|line| !line.trim_start().starts_with("\"token\": ")) {
            out.push_str(line);
            out.push('\n');
        }
        Some(out)
    }

    /// Where the state was renamed into place, when it was.
    fn renamed(&self) -> Option<usize> {
        self.calls.iter().position(|call| is_rename(call) && call.succeeded())
    }

    /// Whether the file was synced before the rename and the directory after it.
    fn is_durable(&self) -> bool {
        let Some(renamed) = self.renamed() else { return false };
        let (before, after) = self.calls.split_at(renamed);
        let is_sync = |call: &&Call| call.name == "fsync" && call.succeeded();
        let root = format!("<{}>", self.project.path().display());
        let written = before.iter().rposition(|call| call.name == "write" && call.line.contains(".agent-test-write-"));
        let synced = before.iter().rposition(|call| is_sync(&call) && call.line.contains(".agent-test-write-"));
        written.is_some_and(|written| synced.is_some_and(|synced| written < synced))
            && after.iter().any(|call| is_sync(&call) && call.line.contains(&root))
    }

    fn litter(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.project.path()).unwrap().flatten().map(|entry| entry.file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .filter(|name| name.starts_with(".agent-test-write-") || name.starts_with(".atomicwrite"))
            .collect()
    }

    fn after(&self, arguments: &[String]) -> Answer {
        command(self.project.path(), &program(self.project.path(), arguments)).output().unwrap().into()
    }
}

fn is_rename(call: &Call) -> bool {
    call.name.starts_with("rename") && call.line.contains("\".monkey-test-state.json\"")
}

/// What came of one fault; an error tells what broke.
fn judge(case: &Case, fault: &str, run: &Run, old: Option<&str>, new: &str) -> Result<(), String> {
    let ensure = |holds: bool, what: &str| -> Result<(), String> { if holds { Ok(()) } else { Err(what.to_owned()) } };
    let applied = run.renamed().is_some();
    let there = run.state();
    let expected = if applied { Some(new) } else { old };
    ensure(
        there.as_deref() == expected,
        "the state is neither the old one before the rename nor the new one after it",
    )?;
    let Answer { code, stdout, stderr } = &run.answer;
    match (fault, *code) {
        ("SIGKILL", _) => ensure(*code == -1 || *code == 137, "it was not killed")?,
        (_, 0) => ensure(applied && run.is_durable(), "it said that it was done, and the change is not on the disk")?,
        ("EINTR", code) => ensure(false, &format!("an interruption was not retried: {code}"))?,
        (_, 3) if applied => ensure(
            stderr.contains("unknown whether it would survive") && stderr.contains("the change is applied"),
            "it did not say that the change is applied",
        )?,
        (_, 3) => ensure(!stderr.contains("is applied"), "it said that the change is applied, and it is not")?,
        (_, code) => ensure(false, &format!("exit {code}"))?,
    }
    ensure(!stderr.contains("panicked") && !stdout.contains("panicked"), "it panicked")?;
    // The same again: nothing to do where it was applied, the change where it was not.
    let bytes = std::fs::read(run.file(STATE)).ok();
    let again = run.after(&case.arguments);
    let held = case.name == "claim" && applied;
    ensure(again.code == if held { 2 } else { 0 }, &format!("the same again: exit {}: {}", again.code, again.stderr))?;
    ensure(!applied || std::fs::read(run.file(STATE)).ok() == bytes, "the same again changed the state")?;
    ensure(run.state().as_deref() == Some(new), "the same again did not lead to the new state")?;
    ensure(run.litter().is_empty(), &format!("litter stays: {:?}", run.litter()))?;
    let findings = Project::open(run.project.path(), Clock::default()).check().map_err(|error| error.to_string())?;
    ensure(findings.is_empty(), &format!("an invariant is broken: {findings:?}"))
}

fn require_strace() {
    let there = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    assert!(there, "strace is missing: as root on Debian `sh scripts/setup.sh build faults` installs it");
}

#[test]
fn a_change_that_is_acknowledged_was_synced_file_first_then_directory() {
    require_strace();
    for case in cases() {
        let run = run(&case, None);
        assert_eq!(run.answer.code, 0, "{}: {}", case.name, run.answer.stderr);
        assert!(run.is_durable(), "{}: {:#?}", case.name, run.touching().collect::<Vec<_>>());
        let position = |what: &dyn Fn(&Call) -> bool| run.calls.iter().position(what).unwrap();
        let locked = position(&|call| call.name == "flock");
        let opened = position(&|call| call.line.contains(".agent-test-write-"));
        // Nothing is said before the change is durable.
        let said = run
            .calls
            .iter()
            .rposition(|call| call.name == "write" && !call.line.contains(run.project.path().to_str().unwrap()));
        let synced = run.calls.iter().rposition(|call| call.name == "fsync").unwrap();
        assert!(locked < opened && said.is_none_or(|said| synced < said), "{}", case.name);
    }
}

#[test]
fn no_fault_at_any_call_breaks_the_state() {
    require_strace();
    let all = std::env::var("AGENT_TEST_FAULTS").is_ok_and(|value| value == "all");
    let cases = cases();
    let mut jobs: Vec<(usize, &'static str, Call, Option<String>, String)> = Vec::new();
    for (place, case) in cases.iter().enumerate() {
        let reference = run(case, None);
        assert_eq!(reference.answer.code, 0, "{}", reference.answer.stderr);
        let old = std::fs::read_to_string(case.template.file(STATE)).ok().map(|text| {
            text.lines()
                .filter(|line| !line.trim_start().starts_with("\"token\": "))
                .fold(String::new(), |out, line| out + line + "\n")
        });
        let new = reference.state().unwrap();
        let mut job = |fault, call: &Call| jobs.push((place, fault, call.clone(), old.clone(), new.clone()));
        for (number, call) in reference.touching().enumerate() {
            job("SIGKILL", call);
            for (turn, error) in ERRORS.into_iter().enumerate() {
                // The calls that carry the change see every error, the others take turns.
                let carries = matches!(call.name.as_str(), "write" | "fsync" | "flock") || is_rename(call);
                if all || carries || turn == number % ERRORS.len() {
                    job(error, call);
                }
            }
        }
    }
    let next = AtomicUsize::new(0);
    let table: Mutex<BTreeMap<(String, &str), usize>> = Mutex::default();
    let broken: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some((place, fault, call, old, new)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let case = &cases[*place];
                    let kind = if *fault == "SIGKILL" { "signal=SIGKILL" } else { &format!("error={fault}") };
                    let run = run(case, Some(&format!("{}:{kind}:when={}", call.name, call.number)));
                    *table.lock().unwrap().entry((call.name.clone(), fault)).or_default() += 1;
                    if let Err(what) = judge(case, fault, &run, old.as_deref(), new) {
                        broken.lock().unwrap().push(format!(
                            "{} with {fault} at {} number {}: {what}\n  {}\n  exit {} {}",
                            case.name,
                            call.name,
                            call.number,
                            call.line,
                            run.answer.code,
                            run.answer.stderr.trim()
                        ));
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().unwrap();
    print_table(&table.into_inner().unwrap(), broken.len());
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}

fn print_table(table: &BTreeMap<(String, &str), usize>, broken: usize) {
    const FAULTS: [&str; 5] = ["SIGKILL", "EINTR", "ENOSPC", "EIO", "EACCES"];
    let mut names: Vec<&String> = table.keys().map(|(name, _)| name).collect();
    names.dedup();
    println!("\n| call | {} |", FAULTS.join(" | "));
    println!("| --- |{}", " ---: |".repeat(FAULTS.len()));
    let count = |name: &String, fault| table.get(&(name.clone(), fault)).copied().unwrap_or(0);
    for name in &names {
        let cells: Vec<String> = FAULTS.iter().map(|fault| count(name, fault).to_string()).collect();
        println!("| `{name}` | {} |", cells.join(" | "));
    }
    let sums: Vec<String> =
        FAULTS.iter().map(|fault| names.iter().map(|name| count(name, fault)).sum::<usize>().to_string()).collect();
    println!("| all | {} |", sums.join(" | "));
    println!("faults: {} states checked, {broken} broken", table.values().sum::<usize>());
}
