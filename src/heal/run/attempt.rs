//! One attempt at one failure: what its kind allows, the free tier, the guard, the write.

use std::path::{Path, PathBuf};

use super::{Step, Undo, Work, first_line, missing_baseline};
use crate::heal::diagnose::{Failure, FailureKind};
use crate::heal::error::HealError;
use crate::heal::free::{Abstained, FreeTerms, Proposal, find_chain, propose};
use crate::heal::guard::{GuardTerms, Strictness, compare_beside};
use crate::heal::page::Page;
use crate::heal::result::{Attempt, Verdict};
use crate::heal::spec::Spec;

impl Work<'_> {
    pub(super) async fn attempt(&mut self, failures: &[Failure]) -> Result<Step, HealError> {
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
        let snapshot = failure.snapshot.clone();
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
        if let Abstained::Ambiguous(reason) = &abstained
            && failure.kind == FailureKind::Locator
        {
            // Two that say the same: whichever a model took, green would not tell whether it is the right one.
            return end(Verdict::Ambiguous, reason);
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

    pub(super) fn note(&mut self, failure: &Failure, tier: &str, outcome: &str, reason: &str, cost_usd: f64) {
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
    pub(super) fn apply(
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
        let verdict = compare_beside(&original, &text, path, terms, &self.asserted)
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
}
