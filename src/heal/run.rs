//! The loop: red, once more, repaired by the cheapest who can, proved; or everything back. Every side effect comes in by
//! [`Hands`]; the files are written through the [`Journal`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::advisor::{Advisor, Trouble, masked};
use super::command::{TestRun, TestRunner};
use super::diagnose::{Diagnosis, Failure, FailureKind, diagnose};
use super::error::HealError;
use super::falsify::falsified;
use super::free::{Abstained, Evidence, FreeTerms, Proposal, before, find_chain, lead_to, propose, shortlist};
use super::guard::{GuardTerms, Strictness, compare};
use super::journal::{Journal, is_busy};
use super::page::Page;
use super::report::Report;
use super::result::{Attempt, HealResult, Proof, Verdict, unified};
use super::spec::Spec;
use super::vrt::{Review, ReviewTerms, Shots, review};
use crate::llm::ModelUse;
use crate::store::{Ids, read_bytes, read_to_string};

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
}

impl HealOptions {
    /// The usual bounds.
    #[must_use]
    pub fn new(file: PathBuf, root: PathBuf) -> Self {
        Self {
            file,
            project: root.clone(),
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
    for path in texts.keys() {
        if is_busy(&options.project, path)? {
            return Err(HealError::Busy(path.clone()));
        }
    }
    let mut journal = Journal::open(&options.project, &hands.ids.token())?;
    for path in texts.keys() {
        journal.keep(path)?;
    }
    let shots = file.with_file_name(format!("{}-snapshots", file.file_name().unwrap_or_default().to_string_lossy()));
    journal.watch_folder(&shots)?;
    let mut work = Work {
        options,
        hands,
        file,
        originals: texts.clone(),
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
        let run = self.run().await?;
        let Some(report) = run.report else {
            if run.timed_out {
                return Ok(Err((
                    Verdict::Environment,
                    "the test command did not end in time and was ended with its processes".to_owned(),
                )));
            }
            let tail: Vec<&str> = run.output.lines().rev().take(3).collect();
            return Err(HealError::NoReport(masked(&tail.into_iter().rev().collect::<Vec<_>>().join(" "))));
        };
        let diagnosis = diagnose(&report);
        Ok(Ok((report, diagnosis)))
    }

    async fn go(&mut self) -> Result<Ended, HealError> {
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
                Step::Again => continue,
                Step::Applied(undo) => {
                    let seen = match self.look().await? {
                        Ok(seen) => seen,
                        Err(ended) => return Ok(ended),
                    };
                    if let Some(reason) = unhelpful(&undo, &seen.1) {
                        self.take_back(undo, &reason)?;
                        // The report of the text before still holds.
                        continue;
                    }
                    self.failures_at_tier = 0;
                    (report, diagnosis) = seen;
                }
            }
        }
        if diagnosis == Diagnosis::Green {
            if let Some(ended) = self.prove(&report).await? {
                return Ok(ended);
            }
        }
        Ok((Verdict::GiveUp, format!("{} attempts did not make it green", self.options.max_attempts)))
    }

    fn take_back(&mut self, undo: Undo, reason: &str) -> Result<(), HealError> {
        if undo.promoted {
            self.promoted.clear();
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
        self.escalate();
        Ok(())
    }

    fn escalate(&mut self) {
        self.failures_at_tier += 1;
        if self.failures_at_tier >= self.options.escalate_after {
            self.failures_at_tier = 0;
            self.tier += 1;
        }
    }

    async fn attempt(&mut self, failures: &[Failure]) -> Result<Step, HealError> {
        let Some(failure) = failures.first() else {
            return Ok(Step::End((Verdict::GiveUp, "nothing to go by".to_owned())));
        };
        let end = |verdict, reason: &str| Ok(Step::End((verdict, reason.to_owned())));
        match failure.kind {
            FailureKind::Environment => return end(Verdict::Environment, &first_line(&failure.message)),
            FailureKind::CompileError => return end(Verdict::GiveUp, &first_line(&failure.message)),
            FailureKind::UnstablePage => {
                return end(Verdict::Flaky, "the page does not become still, so there is no picture to review");
            }
            FailureKind::MissingBaseline => return end(Verdict::NeedsReview, &missing_baseline(failure)),
            FailureKind::Visual => return self.visual(failure, failures).await,
            FailureKind::NotActionable => {
                return end(
                    Verdict::AppRegressionSuspected,
                    &format!("the element is there and cannot be used: {}", first_line(&failure.message)),
                );
            }
            FailureKind::Timeout | FailureKind::Other | FailureKind::Flaky => {
                return end(Verdict::GiveUp, &format!("no locator is to blame: {}", first_line(&failure.message)));
            }
            FailureKind::Locator | FailureKind::AmbiguousLocator | FailureKind::AssertionValue => {}
        }
        let snapshot = failure.context.as_ref().and_then(|path| read_to_string(path).ok()).unwrap_or_default();
        let page = Page::of_context(&snapshot);
        let own = self.texts.get(&self.file).cloned().unwrap_or_default();
        if let Some(elsewhere) = failure.environment_of(&page, &own) {
            return end(Verdict::Environment, elsewhere);
        }
        let Some((path, spec)) = self.place_of(failure)? else {
            let place = failure.place.as_ref().filter(|place| place.file != self.file);
            let reason = match place {
                Some(place) => format!(
                    "the locator stands at {}:{}, which may not be written (name the file with --also)",
                    place.file.display(),
                    place.line
                ),
                None => "the failing locator is not found in the test file".to_owned(),
            };
            return end(Verdict::NeedsReview, &reason);
        };
        let declared = self.options.review.expected.as_deref();
        let terms = FreeTerms { allow_expectation: self.options.allow_expectation || declared.is_some(), declared };
        let abstained = match propose(&spec, &path, failure, &page, terms) {
            Ok(proposal) if !self.tried.contains(&proposal.new) => {
                return self.apply(failure, failures, &path, &spec, proposal, "free", 0.0);
            }
            Ok(_) => Abstained::Unsure("what the free tier proposes did not help".to_owned()),
            Err(abstained) => abstained,
        };
        self.note(failure, "free", "abstained", abstained.reason(), 0.0);
        if let Abstained::Expectation(reason) = &abstained {
            return end(Verdict::AppRegressionSuspected, reason);
        }
        let Some(advisor) = self.hands.codegen.get(self.tier).copied() else {
            let verdict =
                if matches!(abstained, Abstained::Ambiguous(_)) { Verdict::Ambiguous } else { Verdict::GiveUp };
            let tried = self.history.last().map(|last| format!("; last tried: {last}")).unwrap_or_default();
            return end(verdict, &format!("{}{tried}", abstained.reason()));
        };
        self.advise(advisor, failure, failures, &path, &spec, &page, &snapshot).await
    }

    /// The file among those that may be written in which the failing locator stands.
    fn place_of(&self, failure: &Failure) -> Result<Option<(PathBuf, Spec)>, HealError> {
        let mut parsed = Vec::new();
        for (path, text) in &self.texts {
            let spec = Spec::parse(text, path)
                .map_err(|error| HealError::File { path: path.clone(), problem: error.to_string() })?;
            parsed.push((path.clone(), spec));
        }
        // The innermost place of the stack first, then wherever the locator is found.
        let order = failure
            .place
            .iter()
            .chain(&failure.stack)
            .map(|place| place.file.clone())
            .chain([self.file.clone()])
            .chain(self.texts.keys().cloned());
        for path in order {
            // A foreign page object in which the call itself stands is not healed in the spec that calls it.
            if failure.place.as_ref().is_some_and(|place| place.file == path) && !self.texts.contains_key(&path) {
                return Ok(None);
            }
            if let Some(at) = parsed.iter().position(|(known, spec)| {
                *known == path
                    && (failure.kind == FailureKind::AssertionValue || find_chain(spec, known, failure).is_some())
            }) {
                return Ok(Some(parsed.swap_remove(at)));
            }
        }
        Ok(None)
    }

    #[expect(clippy::too_many_arguments, reason = "one failure with everything that is known of it")]
    async fn advise(
        &mut self,
        advisor: &dyn Advisor,
        failure: &Failure,
        failures: &[Failure],
        path: &Path,
        spec: &Spec,
        page: &Page,
        snapshot: &str,
    ) -> Result<Step, HealError> {
        let short = shortlist(spec, path, failure, page, 12).filter(|(_, candidates)| !candidates.is_empty());
        let last_tier = self.tier + 1 >= self.hands.codegen.len();
        let about = Trouble {
            test: failure.test.clone(),
            error: masked(&failure.message),
            locator: short.as_ref().map_or_else(
                || failure.locator.clone().unwrap_or_default(),
                |(target, _)| format!("{} in {}", before(target), failure.locator.as_deref().unwrap_or_default()),
            ),
            candidates: short
                .iter()
                .flat_map(|(_, candidates)| candidates.iter().map(|candidate| masked(&candidate.told)))
                .collect(),
            page: masked(snapshot),
            source: masked(spec.text()),
            history: self.history.clone(),
            guardrail: masked(&self.options.guardrail),
            rewrite: self.options.allow_rewrite,
        };
        (self.hands.say)(&format!("asking {}", advisor.label()));
        let refused = |work: &mut Self, outcome: &str, reason: &str, cost: f64| {
            work.note(failure, advisor.label(), outcome, reason, cost);
            work.history.push(format!("{}: {reason}", advisor.label()));
            work.escalate();
            Ok(Step::Again)
        };
        if let Some((target, candidates)) = short {
            let (pick, cost) = match advisor.pick(&about).await {
                Ok(answer) => answer,
                Err(error) => return refused(self, "failed", &error.to_string(), 0.0),
            };
            let chosen =
                pick.number.filter(|_| pick.same_purpose).and_then(|number| candidates.get(number.checked_sub(1)?));
            match chosen {
                Some(candidate) => match lead_to(spec, &target, candidate, page, &first_line(&pick.reason)) {
                    Some(proposal) if !self.tried.contains(&proposal.new) => {
                        return match self.apply(failure, failures, path, spec, proposal, advisor.label(), cost)? {
                            Step::Again => {
                                self.escalate();
                                Ok(Step::Again)
                            }
                            step => Ok(step),
                        };
                    }
                    _ => {
                        return refused(
                            self,
                            "refused",
                            &format!("no new locator leads to {} alone", candidate.told),
                            cost,
                        );
                    }
                },
                // The strongest may still propose an edit of its own.
                None if !last_tier || pick.number.is_none() => {
                    return refused(self, "abstained", &first_line(&pick.reason), cost);
                }
                None => self.note(failure, advisor.label(), "abstained", &first_line(&pick.reason), cost),
            }
        }
        let (edits, cost) = match advisor.edit(&about).await {
            Ok(answer) => answer,
            Err(error) => return refused(self, "failed", &error.to_string(), 0.0),
        };
        let mut text = spec.text().to_owned();
        if let Some(whole) = edits.rewrite.as_ref().filter(|_| self.options.allow_rewrite) {
            text.clone_from(whole);
            if spec.text().ends_with('\n') && !text.ends_with('\n') {
                text.push('\n');
            }
        } else {
            for edit in &edits.edits {
                if text.matches(&edit.range).count() != 1 || edit.range.is_empty() {
                    return refused(self, "refused", "an edit's text does not stand in the file exactly once", cost);
                }
                text = text.replacen(&edit.range, &edit.replacement, 1);
            }
        }
        if text == spec.text() {
            return refused(self, "abstained", &first_line(&edits.reason), cost);
        }
        let evidence = Evidence {
            before: about.locator.clone(),
            after: String::new(),
            score: 0.0,
            margin: None,
            runner_up: None,
            reason: first_line(&edits.reason),
        };
        let edit = super::spec::Edit { range: 0..spec.text().len(), replacement: text };
        let proposal = Proposal {
            edit,
            old: about.locator.clone(),
            new: format!("{} edits by {}", edits.edits.len(), advisor.label()),
            evidence,
        };
        match self.apply(failure, failures, path, spec, proposal, advisor.label(), cost)? {
            Step::Again => {
                self.escalate();
                Ok(Step::Again)
            }
            step => Ok(step),
        }
    }

    fn note(&mut self, failure: &Failure, tier: &str, outcome: &str, reason: &str, cost_usd: f64) {
        self.attempts.push(Attempt {
            test: failure.test.clone(),
            kind: failure.kind,
            tier: tier.to_owned(),
            phase: if failure.kind == FailureKind::Visual { "review" } else { "locate" }.to_owned(),
            outcome: outcome.to_owned(),
            reason: reason.to_owned(),
            file: None,
            old: None,
            new: None,
            evidence: None,
            cost_usd,
        });
    }

    /// Guards an edit and writes it.
    #[expect(clippy::too_many_arguments, reason = "one edit with everything that is noted of it")]
    fn apply(
        &mut self,
        failure: &Failure,
        failures: &[Failure],
        path: &Path,
        spec: &Spec,
        proposal: Proposal,
        tier: &str,
        cost_usd: f64,
    ) -> Result<Step, HealError> {
        let attempt = |outcome: &str, reason: String| Attempt {
            test: failure.test.clone(),
            kind: failure.kind,
            tier: tier.to_owned(),
            phase: "locate".to_owned(),
            outcome: outcome.to_owned(),
            reason,
            file: Some(path.to_path_buf()),
            old: Some(proposal.old.clone()),
            new: Some(proposal.new.clone()),
            evidence: Some(proposal.evidence.clone()),
            cost_usd,
        };
        let original = self.originals.get(path).cloned().unwrap_or_default();
        let Some(text) = proposal.edit.apply(spec.text()) else {
            self.attempts.push(attempt("refused", "the edit does not fit the file".to_owned()));
            return Ok(Step::Again);
        };
        let terms = GuardTerms {
            strictness: Strictness::LocatorsOnly,
            allow_expectation: self.options.allow_expectation || self.options.review.expected.is_some(),
        };
        let verdict = compare(&original, &text, path, terms)
            .map_err(|error| HealError::File { path: path.to_path_buf(), problem: error.to_string() })?;
        let leak = text.contains("[ref=") && !original.contains("[ref=");
        if !verdict.passed || leak {
            let reason = if leak { "a reference of the snapshot is no locator".to_owned() } else { verdict.line() };
            self.attempts.push(attempt("refused", format!("the guard refuses it: {reason}")));
            self.history.push(format!("{}: refused: {reason}", proposal.new));
            self.tried.push(proposal.new.clone());
            return Ok(Step::Again);
        }
        (self.hands.say)(&format!("{} -> {}", proposal.old, proposal.new));
        self.journal.write(path, text.as_bytes())?;
        self.attempts.push(attempt("applied", proposal.evidence.reason.clone()));
        self.texts.insert(path.to_path_buf(), text);
        let line = failure
            .place
            .iter()
            .chain(&failure.stack)
            .find(|place| place.file == self.file)
            .map_or(failure.test_place.line, |place| place.line);
        self.healed.push((failure.test.clone(), line));
        Ok(Step::Applied(Undo {
            path: path.to_path_buf(),
            text: spec.text().to_owned(),
            signature: failure.signature(),
            failing: failures.iter().map(|failure| failure.test.clone()).collect(),
            promoted: false,
        }))
    }

    async fn visual(&mut self, failure: &Failure, failures: &[Failure]) -> Result<Step, HealError> {
        let images = &failure.images;
        let (Some(baseline), Some(actual)) = (&images.baseline, &images.actual) else {
            return Ok(Step::End((Verdict::NeedsReview, "the report holds no pair of images".to_owned())));
        };
        let root = resolved(&self.options.root, &self.options.root)?;
        let baseline = resolved(baseline, &root)?;
        if self.promoted.contains(&baseline) {
            return Ok(Step::End((
                Verdict::Flaky,
                "the page differs again from the picture that was just reviewed".to_owned(),
            )));
        }
        let shots = Shots {
            name: baseline.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            baseline: read_bytes(&baseline)?,
            actual: read_bytes(actual)?,
            diff: images.diff.as_ref().and_then(|path| read_bytes(path).ok()),
        };
        let review = review(&shots, &self.options.review, &self.hands.observe).await?;
        self.note(failure, &review.judges.join(", "), review.verdict.word(), &review.reason.clone(), review.cost_usd);
        let (outcome, reason) = (review.outcome, review.reason.clone());
        self.reviews.push(review);
        if outcome != Verdict::Fixed {
            return Ok(Step::End((outcome, reason)));
        }
        // The reviewed bytes and no others.
        self.journal.write(&baseline, &shots.actual)?;
        self.promoted.push(baseline.clone());
        Ok(Step::Applied(Undo {
            path: baseline,
            text: String::new(),
            signature: failure.signature(),
            failing: failures.iter().map(|failure| failure.test.clone()).collect(),
            promoted: true,
        }))
    }

    /// What makes green a repair: green again and again, the same tests, and red where an expectation is turned false.
    async fn prove(&mut self, report: &Report) -> Result<Option<Ended>, HealError> {
        (self.hands.say)("green; proving it");
        let mut reports = vec![report.clone()];
        let mut red = false;
        for _ in 0..2 {
            match self.look().await? {
                Ok((report, Diagnosis::Green)) => reports.push(report),
                Ok(_) => red = true,
                Err(ended) => return Ok(Some(ended)),
            }
        }
        if red {
            self.flake_streak += 1;
            let flaky = self.flake_streak >= self.options.flaky_threshold;
            return Ok(flaky.then(|| (Verdict::Flaky, "green, and then red without a change".to_owned())));
        }
        if reports.iter().any(|report| sorted(report.executed()) != self.expected) {
            return Ok(Some((Verdict::GiveUp, "not the same tests ran after the repair".to_owned())));
        }
        let mut proof = Proof { green_runs: 3, tests_run: self.expected.len(), falsified: Vec::new() };
        let text = self.texts.get(&self.file).cloned().unwrap_or_default();
        let mut healed = self.healed.clone();
        // The last repair of a test is the one that stands nearest to what checks it.
        healed.sort_by(|a, b| (&a.0, b.1).cmp(&(&b.0, a.1)));
        healed.dedup_by(|a, b| a.0 == b.0);
        if !healed.is_empty() {
            let mut false_text = text.clone();
            for (test, line) in &healed {
                let Some(next) = falsified(&false_text, &self.file, test, *line) else {
                    return Ok(Some((
                        Verdict::NeedsReview,
                        format!("nothing in `{test}` checks what the repaired call did"),
                    )));
                };
                false_text = next;
            }
            self.journal.write(&self.file, false_text.as_bytes())?;
            let run = self.look().await?;
            self.journal.write(&self.file, text.as_bytes())?;
            let (_, diagnosis) = match run {
                Ok(seen) => seen,
                Err(ended) => return Ok(Some(ended)),
            };
            let red: Vec<String> = if let Diagnosis::Failing(failures) = diagnosis {
                failures.into_iter().map(|failure| failure.test).collect()
            } else {
                Vec::new()
            };
            for (test, _) in &healed {
                if !red.contains(test) {
                    return Ok(Some((
                        Verdict::NeedsReview,
                        format!("`{test}` passes even when what it expects is turned false"),
                    )));
                }
                proof.falsified.push(test.clone());
            }
        }
        self.proof = Some(proof);
        let reason = if self.promoted.is_empty() {
            "the repair is proved".to_owned()
        } else {
            "the reviewed baseline is promoted, and the repair is proved".to_owned()
        };
        Ok(Some((Verdict::Fixed, reason)))
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
            for path in restored.kept {
                reason.push_str(&format!("; `{}` was edited by somebody else and is left as it is", path.display()));
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

/// Why an edit did not help; none when it did.
fn unhelpful(undo: &Undo, diagnosis: &Diagnosis) -> Option<String> {
    let Diagnosis::Failing(failures) = diagnosis else {
        return (*diagnosis != Diagnosis::Green).then(|| "the run after it did not come to an end".to_owned());
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

fn missing_baseline(failure: &Failure) -> String {
    let mut reason = "there is no baseline to compare with; a first one is for a person to accept".to_owned();
    let Some(path) = &failure.images.baseline else { return reason };
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
