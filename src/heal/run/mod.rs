//! The loop: red, once more, repaired by the cheapest who can, proved; or everything back. Every side effect comes in by
//! [`Hands`]; the files are written through the [`Journal`].

mod advise;
mod attempt;
mod promote;
mod prove;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::heal::advisor::{Advisor, masked};
use crate::heal::artifacts::{error_context, usual_folders};
use crate::heal::asserted::Asserted;
use crate::heal::command::{SHARDED, TestRun, TestRunner};
use crate::heal::diagnose::{Diagnosis, Failure, FailureKind, diagnose};
use crate::heal::error::HealError;
use crate::heal::gate::asserted_in;
use crate::heal::journal::Journal;
use crate::heal::report::Report;
use crate::heal::result::{Attempt, HealResult, Proof, Verdict, unified};
use crate::heal::spec::Spec;
use crate::heal::vrt::{Review, ReviewTerms};
use crate::llm::ModelUse;
use crate::store::{Ids, modified, read_to_string, remove_file};

/// What is healed, and within which bounds.
#[derive(Clone, Debug)]
pub struct HealOptions {
    /// The test file: the only one that may be written, unless `also` names more.
    pub file: PathBuf,
    /// The directory that no written file may lie outside of.
    pub root: PathBuf,
    /// Where the journal lies.
    pub project: PathBuf,
    /// Page objects and helpers that may be written too.
    pub also: Vec<PathBuf>,
    /// Most attempts.
    pub max_attempts: u32,
    /// So many times green and then red is flaky.
    pub flaky_threshold: u32,
    /// Failures of a tier before the next one is asked.
    pub escalate_after: u32,
    /// Whether expectations may change.
    pub allow_expectation: bool,
    /// Whether a model may write the file anew (the guard holds all the same).
    pub allow_rewrite: bool,
    /// Request, plan, inventory of locators.
    pub guardrail: String,
    /// The terms for screenshots.
    pub review: ReviewTerms,
    /// Whether the repair is only shown: everything is put back.
    pub dry_run: bool,
    /// Folders in which a failing test's page is looked for when the report does not name it.
    pub output: Vec<PathBuf>,
}

impl HealOptions {
    /// The usual bounds.
    #[must_use]
    pub fn new(file: PathBuf, root: PathBuf) -> Self {
        Self {
            file,
            project: root.clone(),
            output: usual_folders(&root, &root),
            root,
            also: Vec::new(),
            max_attempts: 6,
            flaky_threshold: 2,
            escalate_after: 1,
            allow_expectation: false,
            allow_rewrite: false,
            guardrail: String::new(),
            review: ReviewTerms::default(),
            dry_run: false,
        }
    }
}

/// Everything with a side effect.
pub struct Hands<'a> {
    /// Runs the tests.
    pub runner: &'a dyn TestRunner,
    /// Refreshes a baseline whose change was accepted, in place of writing the reviewed bytes; what it writes must be them.
    pub refresh: Option<&'a dyn TestRunner>,
    /// Who is asked for locators, cheapest first.
    pub codegen: Vec<&'a dyn Advisor>,
    /// Who is asked for screenshots, cheapest first.
    pub observe: Vec<&'a dyn Advisor>,
    /// What was spent up to now.
    pub spent: &'a (dyn Fn() -> ModelUse + Sync),
    /// Says what is going on.
    pub say: &'a (dyn Fn(&str) + Sync),
    /// Names of journals.
    pub ids: Ids,
}

impl std::fmt::Debug for Hands<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hands").finish_non_exhaustive()
    }
}

/// Heals one file, or puts everything back.
///
/// # Errors
/// [`HealError`]: the file or the command cannot be used. A verdict is no error. Dropping the future puts everything back.
pub async fn heal(options: &HealOptions, hands: &Hands<'_>) -> Result<HealResult, HealError> {
    let began = Instant::now();
    let root = resolved(&options.root, &options.root)?;
    let file = resolved(&options.file, &root)?;
    let mut texts = BTreeMap::new();
    texts.insert(file.clone(), read_to_string(&file)?);
    for path in &options.also {
        let path = resolved(path, &root)?;
        let text = read_to_string(&path)?;
        texts.insert(path, text);
    }
    // A page object serves other tests too: what they assert of it must stay.
    let mut asserted = if options.also.is_empty() { Asserted::default() } else { asserted_in(&root) };
    for (path, text) in &texts {
        if let Ok(spec) = Spec::parse(text, path) {
            asserted.add(&spec);
        }
    }
    let mut journal = Journal::open(&options.project, &hands.ids.token(), texts.keys())?;
    let shots = file.with_file_name(format!("{}-snapshots", file.file_name().unwrap_or_default().to_string_lossy()));
    journal.watch_folder(&shots)?;
    let mut work = Work {
        options,
        hands,
        file,
        originals: texts.clone(),
        asserted,
        texts,
        journal,
        attempts: Vec::new(),
        reviews: Vec::new(),
        promoted: Vec::new(),
        healed: Vec::new(),
        history: Vec::new(),
        tier: 0,
        failures_at_tier: 0,
        test_runs: 0,
        expected: Vec::new(),
        flake_streak: 0,
        tried: Vec::new(),
        proof: None,
    };
    let (verdict, reason) = work.go().await?;
    work.end(verdict, reason, began)
}

/// The real path of a file, which must lie in a directory.
fn resolved(path: &Path, root: &Path) -> Result<PathBuf, HealError> {
    let bad = |problem: String| HealError::File { path: path.to_path_buf(), problem };
    let real = path.canonicalize().map_err(|error| bad(error.to_string()))?;
    if !real.starts_with(root) {
        return Err(bad(format!("it leads out of `{}`", root.display())));
    }
    Ok(real)
}

type Ended = (Verdict, String);

struct Work<'a> {
    options: &'a HealOptions,
    hands: &'a Hands<'a>,
    file: PathBuf,
    originals: BTreeMap<PathBuf, String>,
    /// What tests ask of locators that stand in other files.
    asserted: Asserted,
    texts: BTreeMap<PathBuf, String>,
    journal: Journal,
    attempts: Vec<Attempt>,
    reviews: Vec<Review>,
    promoted: Vec<PathBuf>,
    /// What was repaired: the test, and the line in the test file from which on something must check it.
    healed: Vec<(String, usize)>,
    history: Vec<String>,
    tier: usize,
    failures_at_tier: u32,
    test_runs: u32,
    /// The tests that ran when it was red.
    expected: Vec<(String, String)>,
    flake_streak: u32,
    /// Edits that did not help: they are not tried again.
    tried: Vec<String>,
    proof: Option<Proof>,
}

/// What an attempt at one failure came to.
enum Step {
    /// Something was written; see what it brings.
    Applied(Undo),
    /// Nothing more can be done.
    End(Ended),
    /// Nothing was written, and another tier may.
    Again,
}

/// How the turn of a model tier ended without success.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// What it proposed was refused or did not help.
    Tried,
    /// It proposed nothing, or nothing new.
    Passed,
}

/// How the last edit is undone.
struct Undo {
    path: PathBuf,
    text: String,
    signature: String,
    failing: Vec<String>,
    promoted: bool,
}

impl Work<'_> {
    async fn run(&mut self) -> Result<TestRun, HealError> {
        self.test_runs += 1;
        let run = self.hands.runner.run(&self.file).await?;
        Ok(TestRun { report: run.report.map(|report| report.of_file(&self.file)), ..run })
    }

    /// A run and what it says; an end when it says nothing.
    async fn look(&mut self) -> Result<Result<(Report, Diagnosis), Ended>, HealError> {
        let since = SystemTime::now();
        let run = self.run().await?;
        let Some(report) = run.report else {
            if run.timed_out {
                return Ok(Err((
                    Verdict::Environment,
                    "the test command did not end in time and was ended with its processes".to_owned(),
                )));
            }
            let tail: Vec<&str> = run.output.lines().rev().take(3).collect();
            let said = masked(&tail.into_iter().rev().collect::<Vec<_>>().join(" "));
            return Err(HealError::NoReport(if said.is_empty() { "it said nothing".to_owned() } else { said }));
        };
        if report.sharded {
            return Err(HealError::Command(SHARDED.to_owned()));
        }
        let mut diagnosis = diagnose(&report);
        if let Diagnosis::Failing(failures) = &mut diagnosis {
            // Playwright wipes what it left at the next run.
            for failure in failures {
                let named = failure.context.as_ref().and_then(|path| read_to_string(path).ok());
                let left = || error_context(&self.options.output, &failure.test_place.file, since);
                let read = named.or_else(left);
                failure.see(read);
            }
        }
        Ok(Ok((report, diagnosis)))
    }

    async fn go(&mut self) -> Result<Ended, HealError> {
        let began = SystemTime::now() - Duration::from_millis(20);
        let mut diagnosis = match self.look().await? {
            Ok((_, diagnosis)) => diagnosis,
            Err(ended) => return Ok(ended),
        };
        while diagnosis == Diagnosis::Green {
            // Nothing to do, unless it is red now and then.
            let mut red = None;
            for _ in 0..2 {
                match self.look().await? {
                    Ok((_, Diagnosis::Green)) => {}
                    Ok(seen) => red = Some(seen),
                    Err(ended) => return Ok(ended),
                }
            }
            let Some(_) = red else {
                return Ok((Verdict::AlreadyGreen, "every test passes, three times in a row".to_owned()));
            };
            self.flake_streak += 1;
            if self.flake_streak >= self.options.flaky_threshold {
                return Ok((Verdict::Flaky, "green, and then red without a change".to_owned()));
            }
            diagnosis = match self.look().await? {
                Ok((_, diagnosis)) => diagnosis,
                Err(ended) => return Ok(ended),
            };
        }
        if let Some(ended) = final_word(&diagnosis) {
            return Ok(ended);
        }
        if let Diagnosis::Failing(failures) = &diagnosis
            && let Some(failure) = failures.iter().find(|failure| failure.kind == FailureKind::MissingBaseline)
        {
            // Playwright has written it by now, so the next run would be green without anybody's review.
            if let Some(path) = written_baseline(&failure.message)
                .and_then(|path| resolved(path, &self.options.root.canonicalize().ok()?).ok())
                .filter(|path| modified(path).is_some_and(|time| time >= began))
            {
                remove_file(&path)?;
            }
            return Ok((Verdict::NeedsReview, missing_baseline(failure)));
        }
        // Once more before anything is spent or written.
        (self.hands.say)("red; once more before anything is touched");
        let (again, second) = match self.look().await? {
            Ok(seen) => seen,
            Err(ended) => return Ok(ended),
        };
        if second == Diagnosis::Green {
            return Ok((Verdict::Flaky, "red, and then green without a change".to_owned()));
        }
        let mut report = again;
        diagnosis = second;
        self.expected = sorted(report.executed());
        for _ in 0..self.options.max_attempts {
            if let Some(ended) = final_word(&diagnosis) {
                return Ok(ended);
            }
            let Diagnosis::Failing(failures) = &diagnosis else {
                match self.prove(&report).await? {
                    Some(ended) => return Ok(ended),
                    None => {
                        (report, diagnosis) = match self.look().await? {
                            Ok(seen) => seen,
                            Err(ended) => return Ok(ended),
                        };
                        continue;
                    }
                }
            };
            match self.attempt(failures).await? {
                Step::End(ended) => return Ok(ended),
                Step::Again => {}
                Step::Applied(undo) => {
                    let mut seen = match self.look().await? {
                        Ok(seen) => seen,
                        Err(ended) => return Ok(ended),
                    };
                    if is_slow(&seen.1) {
                        (self.hands.say)("the element is there, and the time was too short; once more");
                        seen = match self.look().await? {
                            Ok(seen) => seen,
                            Err(ended) => return Ok(ended),
                        };
                    }
                    if let Some(reason) = unhelpful(&undo, &seen.1) {
                        // The report of the text before still holds.
                        self.take_back(undo, &reason)?;
                        continue;
                    }
                    self.failures_at_tier = 0;
                    (report, diagnosis) = seen;
                }
            }
        }
        if diagnosis == Diagnosis::Green
            && let Some(ended) = self.prove(&report).await?
        {
            return Ok(ended);
        }
        Ok((Verdict::GiveUp, format!("{} attempts did not make it green", self.options.max_attempts)))
    }

    fn take_back(&mut self, undo: Undo, reason: &str) -> Result<(), HealError> {
        let by_model = !undo.promoted && self.attempts.last().is_some_and(|attempt| attempt.tier != "free");
        if undo.promoted {
            self.journal.put_back(&undo.path)?;
            self.promoted.retain(|path| *path != undo.path);
            self.tried.push(undo.path.display().to_string());
        } else {
            self.journal.write(&undo.path, undo.text.as_bytes())?;
            self.texts.insert(undo.path, undo.text);
        }
        self.healed.pop();
        if let Some(attempt) = self.attempts.last_mut() {
            "failed".clone_into(&mut attempt.outcome);
            reason.clone_into(&mut attempt.reason);
            self.history.push(format!(
                "{} -> {}: {reason}",
                attempt.old.as_deref().unwrap_or_default(),
                attempt.new.as_deref().unwrap_or_default()
            ));
            self.tried.extend(attempt.new.clone());
        }
        if by_model {
            self.escalate(Turn::Tried);
        }
        Ok(())
    }

    /// Counts one failure of the present model tier and goes on to the next after as many as were said. The last one is asked
    /// again, with what is known by now, as long as it has something new to try.
    fn escalate(&mut self, turn: Turn) {
        self.failures_at_tier += 1;
        if self.failures_at_tier < self.options.escalate_after {
            return;
        }
        self.failures_at_tier = 0;
        let is_last = self.tier + 1 >= self.hands.codegen.len();
        if !(is_last && turn == Turn::Tried) {
            self.tier += 1;
        }
    }

    fn end(mut self, verdict: Verdict, reason: String, began: Instant) -> Result<HealResult, HealError> {
        let mut diff = String::new();
        for (path, text) in &self.texts {
            let name = path.strip_prefix(&self.options.root).unwrap_or(path).display().to_string();
            diff.push_str(&unified(&name, self.originals.get(path).map_or("", String::as_str), text));
        }
        let stands = verdict == Verdict::Fixed && !self.options.dry_run;
        let promoted = if stands { std::mem::take(&mut self.promoted) } else { Vec::new() };
        let mut reason = masked(&reason);
        if stands {
            self.journal.commit()?;
        } else {
            let restored = self.journal.restore()?;
            for kept in restored.kept {
                reason.push_str(&format!("; {}", kept.line()));
            }
            if verdict == Verdict::Fixed {
                reason.push_str("; put back, because this was a dry run");
            }
        }
        Ok(HealResult {
            verdict,
            reason,
            file: self.file,
            attempts: self.attempts,
            reviews: self.reviews,
            diff,
            promoted,
            proof: self.proof,
            test_runs: self.test_runs,
            model: (self.hands.spent)(),
            duration_ms: began.elapsed().as_millis() as u64,
        })
    }
}

/// The verdict of a diagnosis that needs no attempt.
fn final_word(diagnosis: &Diagnosis) -> Option<Ended> {
    match diagnosis {
        Diagnosis::Environment(reason) => Some((Verdict::Environment, masked(reason))),
        Diagnosis::Compile(reason) => Some((Verdict::GiveUp, format!("the tests do not run: {}", masked(reason)))),
        Diagnosis::Flaky(tests) => Some((Verdict::Flaky, format!("passes at a later try: {}", tests.join(", ")))),
        Diagnosis::Green | Diagnosis::Failing(_) => None,
    }
}

/// Whether nothing but the time of a machine under load is to blame: that says nothing of an edit.
fn is_slow(diagnosis: &Diagnosis) -> bool {
    matches!(diagnosis, Diagnosis::Failing(failures)
        if failures.iter().all(|failure| failure.kind == FailureKind::Timeout && failure.locator.is_some()))
}

/// Why an edit did not help; none when it did.
fn unhelpful(undo: &Undo, diagnosis: &Diagnosis) -> Option<String> {
    let failures = match diagnosis {
        Diagnosis::Failing(failures) => failures,
        Diagnosis::Green => return None,
        Diagnosis::Flaky(_) => return Some("with it the test passes only at a later try".to_owned()),
        Diagnosis::Environment(reason) | Diagnosis::Compile(reason) => {
            return Some(format!("the run after it did not come to an end: {}", first_line(reason)));
        }
    };
    if let Some(new) = failures.iter().find(|failure| !undo.failing.contains(&failure.test)) {
        return Some(format!("`{}` fails now, and did not before", new.test));
    }
    let same = |failure: &&Failure| {
        failure.signature() == undo.signature
            || (!undo.promoted
                && failure.kind == FailureKind::Locator
                && undo.signature.starts_with("Locator")
                && same_place(&failure.signature(), &undo.signature))
    };
    failures.iter().find(same).map(|failure| format!("it fails in the same place: {}", first_line(&failure.message)))
}

/// Whether two signatures speak of one test and one line.
fn same_place(a: &str, b: &str) -> bool {
    let line =
        |text: &str| text.split(" getBy").next().unwrap_or(text).split(" locator(").next().unwrap_or(text).to_owned();
    line(a) == line(b)
}

/// The baseline that Playwright says it has just written.
fn written_baseline(message: &str) -> Option<&Path> {
    let (_, rest) = message.split_once("A snapshot doesn't exist at ")?;
    Some(Path::new(rest.split_once(", writing")?.0))
}

fn missing_baseline(failure: &Failure) -> String {
    let mut reason = "there is no baseline to compare with; a first one is for a person to accept".to_owned();
    let named = failure.images.baseline.as_deref().or_else(|| written_baseline(&failure.message));
    let Some(path) = named else { return reason };
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let Some((stem, platform)) = name.rsplit_once('-') else { return reason };
    let others = ["darwin", "linux", "win32"]
        .into_iter()
        .filter(|other| *other != platform && path.with_file_name(format!("{stem}-{other}.png")).exists());
    let others: Vec<&str> = others.collect();
    if !others.is_empty() {
        reason.push_str(&format!("; there is one for {}", others.join(" and ")));
    }
    reason
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    masked(&line.chars().take(300).collect::<String>())
}

fn sorted(mut tests: Vec<(String, String)>) -> Vec<(String, String)> {
    tests.sort();
    tests
}
