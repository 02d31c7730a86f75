//! What makes green a repair.

use super::{Ended, Work, sorted};
use crate::heal::diagnose::Diagnosis;
use crate::heal::error::HealError;
use crate::heal::falsify::falsified;
use crate::heal::report::Report;
use crate::heal::result::{Proof, Verdict};

impl Work<'_> {
    /// What makes green a repair: green again and again, the same tests, and red where an expectation is turned false.
    pub(super) async fn prove(&mut self, report: &Report) -> Result<Option<Ended>, HealError> {
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
        // More may run than before: those behind a failure in a serial group. Fewer must not.
        let ran = |report: &Report, test| sorted(report.executed()).contains(test);
        if reports.iter().any(|report| self.expected.iter().any(|test| !ran(report, test))) {
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
}
