//! The review of a visual change: measured first, then judged, cheapest first; no word of a model wins against a measurement.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::advisor::{Advisor, Judgement, ReviewVerdict, Sight};
use super::error::HealError;
use super::measure::{Measured, Picture, Rect, RegionKind, measure};
use super::result::Verdict;

/// The terms of a review.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewTerms {
    /// The declared change.
    pub expected: Option<String>,
    /// What changed in the repository.
    pub git: Option<String>,
    /// Where the declared change may be; empty: anywhere.
    pub regions: Vec<Rect>,
    /// Least confidence of an acceptance.
    pub threshold: f64,
    /// Whether the strongest tier must confirm an acceptance.
    pub confirm: bool,
}

impl Default for ReviewTerms {
    fn default() -> Self {
        Self { expected: None, git: None, regions: Vec::new(), threshold: 0.8, confirm: true }
    }
}

/// What a review came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// Name of the snapshot.
    pub name: String,
    /// The word on it.
    pub verdict: ReviewVerdict,
    /// How it counts: `fixed` (may be promoted), `regression`, `needs-review`.
    pub outcome: Verdict,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// Why.
    pub reason: String,
    /// Who judged, in order; `measured` where no model was needed.
    pub judges: Vec<String>,
    /// Where the intent comes from: `declared`, `git`, `none`.
    pub intent: String,
    /// What was measured.
    pub measured: Measured,
    /// USD that it cost.
    pub cost_usd: f64,
}

/// The images of one comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Shots {
    /// Name of the snapshot.
    pub name: String,
    /// The baseline's bytes.
    pub baseline: Vec<u8>,
    /// The bytes of the page now.
    pub actual: Vec<u8>,
    /// The bytes of the difference.
    pub diff: Option<Vec<u8>>,
}

/// A word of a model's that speaks of removal.
fn declares_removal(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "remov",
        "vanish",
        "gone",
        "hidden",
        "hide",
        "delet",
        "disappear",
        "no longer",
        "without",
        "drop",
        "empty",
        "cleared",
    ]
    .iter()
    .any(|word| text.contains(word))
}

/// Reviews one visual change. A model that does not answer leaves it to a person.
///
/// # Errors
/// When an image cannot be read.
pub async fn review(shots: &Shots, terms: &ReviewTerms, judges: &[&dyn Advisor]) -> Result<Review, HealError> {
    let before = Picture::decode(&shots.baseline, &PathBuf::from(&shots.name))?;
    let after = Picture::decode(&shots.actual, &PathBuf::from(&shots.name))?;
    let measured = measure(&before, &after);
    let expected = terms.expected.clone().filter(|text| !text.trim().is_empty());
    let git = terms.git.clone().filter(|text| !text.trim().is_empty());
    let intent = if expected.is_some() {
        "declared"
    } else if git.is_some() {
        "git"
    } else {
        "none"
    };
    let mut review = Review {
        name: shots.name.clone(),
        verdict: ReviewVerdict::Unsure,
        outcome: Verdict::NeedsReview,
        confidence: 1.0,
        reason: String::new(),
        judges: vec!["measured".to_owned()],
        intent: intent.to_owned(),
        measured,
        cost_usd: 0.0,
    };
    let seen: Vec<Rect> = review.measured.seen().map(|region| region.rect).collect();
    let outside = seen
        .iter()
        .filter(|rect| !terms.regions.is_empty() && !terms.regions.iter().any(|allowed| rect.is_in(*allowed)))
        .count();
    if review.measured.resized() {
        "the picture has another size".clone_into(&mut review.reason);
        return Ok(review);
    }
    if seen.is_empty() {
        "only differences that no person sees: a tolerance of the comparison, not a new baseline, is the answer"
            .clone_into(&mut review.reason);
        return Ok(review);
    }
    if outside > 0 {
        review.verdict = ReviewVerdict::Reject;
        review.outcome = Verdict::Regression;
        review.reason =
            format!("{outside} of {} regions that changed lie outside of the declared part of the page", seen.len());
        return Ok(review);
    }
    let vanished = review.measured.seen().filter(|region| region.kind == RegionKind::Vanished).count();
    let sight = Sight {
        name: shots.name.clone(),
        baseline: shots.baseline.clone(),
        actual: shots.actual.clone(),
        diff: shots.diff.clone(),
        measured: review.measured.clone(),
        expected: expected.clone(),
        git: git.clone(),
    };
    if judges.is_empty() {
        review.reason = format!("no model is named that could judge it; {}", review.measured.describe());
        return Ok(review);
    }
    judge(&mut review, &sight, terms, judges, seen.len()).await;
    if review.verdict == ReviewVerdict::Accept {
        if intent == "none" {
            review.outcome = Verdict::NeedsReview;
            review.reason =
                format!("accepted, but nothing was declared, and pixels alone prove no intent: {}", review.reason);
        } else if vanished > 0 && !expected.as_deref().or(git.as_deref()).is_some_and(declares_removal) {
            review.outcome = Verdict::NeedsReview;
            review.reason =
                format!("accepted, but {vanished} of the regions vanished, which was not declared: {}", review.reason);
        }
    }
    Ok(review)
}

async fn judge(review: &mut Review, sight: &Sight, terms: &ReviewTerms, judges: &[&dyn Advisor], regions: usize) {
    review.judges.clear();
    let last = judges.len() - 1;
    for (index, judge) in judges.iter().enumerate() {
        let Some(word) = ask(review, *judge, sight).await else {
            if index == last {
                return;
            }
            continue;
        };
        match word.verdict {
            ReviewVerdict::Unsure => continue,
            // A cheap model that rejects without being sure is not the last word.
            ReviewVerdict::Reject if word.confidence < terms.threshold && index < last => continue,
            ReviewVerdict::Reject => {
                review.outcome = Verdict::Regression;
                return;
            }
            ReviewVerdict::Accept => {}
        }
        if let Some(problem) = weak(&word, terms, regions) {
            review.reason = format!("{problem}: {}", word.reason);
            return;
        }
        let strongest =
            judges.get(last).filter(|strongest| terms.confirm && index < last && strongest.label() != judge.label());
        if let Some(strongest) = strongest {
            let Some(confirmed) = ask(review, *strongest, sight).await else { return };
            if confirmed.verdict != ReviewVerdict::Accept {
                review.reason =
                    format!("{} accepts, {} does not: {}", judge.label(), strongest.label(), confirmed.reason);
                return;
            }
            if let Some(problem) = weak(&confirmed, terms, regions) {
                review.reason = format!("{problem}: {}", confirmed.reason);
                return;
            }
        }
        review.outcome = Verdict::Fixed;
        return;
    }
    if review.verdict == ReviewVerdict::Unsure && review.reason.is_empty() {
        "no model could tell".clone_into(&mut review.reason);
    }
}

/// Why an acceptance does not count.
fn weak(word: &Judgement, terms: &ReviewTerms, regions: usize) -> Option<String> {
    if word.confidence < terms.threshold {
        return Some(format!("accepted with a confidence of {:.2}, below {:.2}", word.confidence, terms.threshold));
    }
    let missing: Vec<String> =
        (1..=regions).filter(|number| !word.explained.contains(number)).map(|number| number.to_string()).collect();
    (!missing.is_empty()).then(|| format!("accepted, but region {} is not explained", missing.join(", ")))
}

async fn ask(review: &mut Review, judge: &dyn Advisor, sight: &Sight) -> Option<Judgement> {
    review.judges.push(judge.label().to_owned());
    match judge.review(sight).await {
        Ok((word, cost)) => {
            review.cost_usd += cost;
            review.verdict = word.verdict;
            review.confidence = word.confidence;
            review.reason.clone_from(&word.reason);
            Some(word)
        }
        Err(error) => {
            review.verdict = ReviewVerdict::Unsure;
            review.reason = error.to_string();
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::future::BoxFuture;

    use super::super::advisor::{Edits, Pick, Trouble};
    use super::*;
    use crate::llm::LlmError;

    struct Judge(&'static str, Mutex<Vec<(ReviewVerdict, f64)>>, Mutex<u32>);

    fn judge(label: &'static str, words: &[(ReviewVerdict, f64)]) -> Judge {
        Judge(label, Mutex::new(words.iter().rev().copied().collect()), Mutex::new(0))
    }

    impl Advisor for Judge {
        fn label(&self) -> &str {
            self.0
        }
        fn pick<'a>(&'a self, _: &'a Trouble) -> BoxFuture<'a, Result<(Pick, f64), LlmError>> {
            Box::pin(async { Err(LlmError::NotConfigured) })
        }
        fn edit<'a>(&'a self, _: &'a Trouble) -> BoxFuture<'a, Result<(Edits, f64), LlmError>> {
            Box::pin(async { Err(LlmError::NotConfigured) })
        }
        fn review<'a>(&'a self, _: &'a Sight) -> BoxFuture<'a, Result<(Judgement, f64), LlmError>> {
            *self.2.lock().unwrap() += 1;
            let (verdict, confidence) = self.1.lock().unwrap().pop().unwrap();
            Box::pin(async move {
                Ok((Judgement { verdict, confidence, explained: (1..20).collect(), reason: "so".into() }, 0.01))
            })
        }
    }

    fn png(paint: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 160, 96);
        encoder.set_color(png::ColorType::Rgb);
        let data: Vec<u8> =
            (0..96).flat_map(|y| (0..160).map(move |x| (x, y))).flat_map(|(x, y)| paint(x, y)).collect();
        encoder.write_header().unwrap().write_image_data(&data).unwrap();
        bytes
    }

    fn badge(x: u32, y: u32, colour: [u8; 3]) -> [u8; 3] {
        if (100..124).contains(&x) && (60..72).contains(&y) && !x.is_multiple_of(5) { colour } else { [255, 255, 255] }
    }

    fn heading(x: u32, y: u32) -> bool {
        x < 60 && y < 12 && x.is_multiple_of(3)
    }

    fn shots(heading_goes: bool) -> Shots {
        let baseline = png(|x, y| if heading(x, y) { [0, 0, 0] } else { badge(x, y, [0, 0, 255]) });
        let actual = png(|x, y| if heading(x, y) && !heading_goes { [0, 0, 0] } else { badge(x, y, [255, 0, 0]) });
        Shots { name: "badge.png".into(), baseline, actual, diff: None }
    }

    fn declared() -> ReviewTerms {
        ReviewTerms { expected: Some("The badge turns red.".into()), ..ReviewTerms::default() }
    }

    use ReviewVerdict::{Accept, Reject, Unsure};

    async fn outcome(shots: &Shots, terms: &ReviewTerms, judges: &[&Judge]) -> Verdict {
        let judges: Vec<&dyn Advisor> = judges.iter().map(|judge| *judge as &dyn Advisor).collect();
        review(shots, terms, &judges).await.unwrap().outcome
    }

    #[tokio::test]
    async fn both_must_accept_and_a_disagreement_is_a_persons() {
        let (cheap, strong) =
            (judge("cheap", &[(Accept, 0.99), (Accept, 0.99)]), judge("strong", &[(Accept, 0.9), (Reject, 0.9)]));
        assert_eq!(outcome(&shots(false), &declared(), &[&cheap, &strong]).await, Verdict::Fixed);
        assert_eq!(outcome(&shots(false), &declared(), &[&cheap, &strong]).await, Verdict::NeedsReview);
        assert_eq!(*strong.2.lock().unwrap(), 2);
    }

    #[tokio::test]
    async fn without_confirmation_one_call_is_made() {
        let (cheap, strong) = (judge("cheap", &[(Accept, 0.95)]), judge("strong", &[]));
        let terms = ReviewTerms { confirm: false, ..declared() };
        assert_eq!(outcome(&shots(false), &terms, &[&cheap, &strong]).await, Verdict::Fixed);
        assert_eq!((*cheap.2.lock().unwrap(), *strong.2.lock().unwrap()), (1, 0));
    }

    #[tokio::test]
    async fn a_low_confidence_is_a_persons_and_a_rejection_is_a_regression() {
        assert_eq!(outcome(&shots(false), &declared(), &[&judge("m", &[(Accept, 0.6)])]).await, Verdict::NeedsReview);
        assert_eq!(outcome(&shots(false), &declared(), &[&judge("m", &[(Reject, 0.9)])]).await, Verdict::Regression);
    }

    #[tokio::test]
    async fn who_is_unsure_or_rejects_weakly_is_followed_by_the_stronger() {
        for first in [(Unsure, 0.5), (Reject, 0.3)] {
            let (cheap, strong) = (judge("cheap", &[first]), judge("strong", &[(Accept, 0.95)]));
            assert_eq!(outcome(&shots(false), &declared(), &[&cheap, &strong]).await, Verdict::Fixed);
        }
        assert_eq!(
            outcome(&shots(false), &declared(), &[&judge("a", &[(Unsure, 0.9)]), &judge("b", &[(Unsure, 0.9)])]).await,
            Verdict::NeedsReview
        );
    }

    #[tokio::test]
    async fn a_vanished_heading_is_not_accepted_however_sure_the_models_are() {
        let (cheap, strong) = (judge("cheap", &[(Accept, 1.0)]), judge("strong", &[(Accept, 1.0)]));
        assert_eq!(outcome(&shots(true), &declared(), &[&cheap, &strong]).await, Verdict::NeedsReview);
    }

    #[tokio::test]
    async fn outside_of_the_declared_part_nothing_is_asked() {
        let m = judge("m", &[]);
        let terms = ReviewTerms { regions: vec![Rect { x: 90, y: 50, width: 60, height: 40 }], ..declared() };
        assert_eq!(outcome(&shots(true), &terms, &[&m]).await, Verdict::Regression);
        assert_eq!(*m.2.lock().unwrap(), 0);
    }

    #[tokio::test]
    async fn what_was_declared_counts_before_what_changed_in_the_repository() {
        let git = || Some("1 file changed".to_owned());
        for (expected, git, word) in [
            (Some("The badge turns red.".to_owned()), git(), "declared"),
            (Some(" ".to_owned()), git(), "git"),
            (None, None, "none"),
        ] {
            let terms = ReviewTerms { expected, git, ..ReviewTerms::default() };
            let m = judge("m", &[(Accept, 0.95)]);
            assert_eq!(review(&shots(false), &terms, &[&m]).await.unwrap().intent, word);
        }
    }

    #[tokio::test]
    async fn without_a_declared_intent_nothing_is_promoted() {
        assert_eq!(
            outcome(&shots(false), &ReviewTerms::default(), &[&judge("m", &[(Accept, 1.0)])]).await,
            Verdict::NeedsReview
        );
        assert_eq!(outcome(&shots(false), &declared(), &[]).await, Verdict::NeedsReview);
    }
}
