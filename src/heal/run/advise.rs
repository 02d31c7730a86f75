//! What a model is asked where the free tier stops: one of the candidates, or edits; both pass the guard like any other.

use std::path::Path;

use super::{Step, Turn, Work, first_line};
use crate::heal::advisor::{Advisor, Trouble, masked};
use crate::heal::diagnose::Failure;
use crate::heal::error::HealError;
use crate::heal::free::{Evidence, Proposal, before, lead_to, shortlist};
use crate::heal::page::Page;
use crate::heal::spec::{Edit, Spec};

impl Work<'_> {
    #[expect(clippy::too_many_arguments, reason = "one failure with everything that is known of it")]
    pub(super) async fn advise(
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
            work.escalate(Turn::Passed);
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
                                self.escalate(Turn::Tried);
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
        if self.tried.contains(&text) {
            return refused(self, "refused", "it proposes again what did not help", cost);
        }
        self.tried.push(text.clone());
        let evidence = Evidence {
            before: about.locator.clone(),
            after: String::new(),
            score: 0.0,
            margin: None,
            runner_up: None,
            reason: first_line(&edits.reason),
        };
        let edit = Edit { range: 0..spec.text().len(), replacement: text };
        let proposal = Proposal {
            edit,
            old: about.locator.clone(),
            new: format!("{} edits by {}", edits.edits.len(), advisor.label()),
            evidence,
        };
        match self.apply(failure, failures, path, spec, proposal, advisor.label(), cost)? {
            Step::Again => {
                self.escalate(Turn::Tried);
                Ok(Step::Again)
            }
            step => Ok(step),
        }
    }
}
