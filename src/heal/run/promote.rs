//! A screenshot: reviewed, and promoted by the bytes that were reviewed.

use std::path::{Path, PathBuf};

use super::{Step, Undo, Work, resolved};
use crate::heal::diagnose::Failure;
use crate::heal::error::HealError;
use crate::heal::measure::{Picture, measure};
use crate::heal::result::Verdict;
use crate::heal::vrt::{Shots, review};
use crate::store::{names_below, read_bytes};

impl Work<'_> {
    pub(super) async fn visual(&mut self, failure: &Failure, failures: &[Failure]) -> Result<Step, HealError> {
        let images = &failure.images;
        let (Some(baseline), Some(actual)) = (&images.baseline, &images.actual) else {
            return Ok(Step::End((Verdict::NeedsReview, "the report holds no pair of images".to_owned())));
        };
        let root = resolved(&self.options.root, &self.options.root)?;
        let baseline = resolved(baseline, &root)?;
        if self.promoted.contains(&baseline) || self.tried.contains(&baseline.display().to_string()) {
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
        if self.hands.refresh.is_none() {
            // The reviewed bytes and no others.
            self.journal.write(&baseline, &shots.actual)?;
        } else if let Some(problem) = self.refresh(&baseline, &shots, &root).await? {
            return Ok(Step::End((Verdict::NeedsReview, problem)));
        }
        self.promoted.push(baseline.clone());
        Ok(Step::Applied(Undo {
            path: baseline,
            text: String::new(),
            signature: failure.signature(),
            failing: failures.iter().map(|failure| failure.test.clone()).collect(),
            promoted: true,
        }))
    }

    /// Has the user's command refresh the baseline, and holds what it wrote to the review: the reviewed picture in this
    /// baseline, and every other image as it was. Why not, when it is not so.
    async fn refresh(&mut self, baseline: &Path, shots: &Shots, root: &Path) -> Result<Option<String>, HealError> {
        let Some(command) = self.hands.refresh else { return Ok(None) };
        let folder = baseline.parent().unwrap_or(baseline);
        let inside: Vec<PathBuf> =
            names_below(folder).into_iter().filter_map(|name| resolved(&folder.join(name), root).ok()).collect();
        self.journal.watch_folder(folder)?;
        for path in &inside {
            self.journal.keep_open(path)?;
        }
        (self.hands.say)("refreshing the baseline by the command that was given");
        let run = command.run(&self.file).await?;
        let written = read_bytes(baseline)?;
        for path in inside.iter().filter(|path| *path != baseline) {
            self.journal.put_back(path)?;
        }
        let name = Path::new(&shots.name);
        let is_reviewed = Picture::decode(&written, name).is_ok_and(|written| {
            Picture::decode(&shots.actual, name).is_ok_and(|reviewed| measure(&reviewed, &written).regions.is_empty())
        });
        if is_reviewed && !run.timed_out {
            return Ok(None);
        }
        self.journal.put_back(baseline)?;
        let how = if run.timed_out {
            "did not end in time"
        } else if written == shots.baseline {
            "left the baseline as it was"
        } else {
            "wrote another picture than the one that was reviewed"
        };
        Ok(Some(format!("the change was accepted, but the update command {how}; the baseline is as before")))
    }
}
