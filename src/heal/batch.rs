//! Many files with one outer budget, one after another.

use std::path::PathBuf;

use futures_util::future::BoxFuture;

use super::error::HealError;
use super::result::{BatchEntry, BatchResult, HealResult, Verdict};

/// Heals files in order. `heal` gets a file and what it may spend; an error of one file does not stop the rest.
///
/// # Errors
/// [`HealError::Stopped`] only.
pub async fn heal_all<'a>(
    files: Vec<PathBuf>,
    total_usd: Option<f64>,
    budget_usd: f64,
    heal: impl Fn(PathBuf, f64) -> BoxFuture<'a, Result<HealResult, HealError>>,
) -> Result<BatchResult, HealError> {
    let mut batch = BatchResult { entries: Vec::new(), fixed: 0, total_cost_usd: 0.0 };
    for file in files {
        let left = total_usd.map_or(f64::INFINITY, |total| total - batch.total_cost_usd);
        let mut entry = BatchEntry { file: file.clone(), result: None, skipped: false, error: None };
        if left <= 0.0 && batch.total_cost_usd > 0.0 {
            entry.skipped = true;
            batch.entries.push(entry);
            continue;
        }
        match heal(file, budget_usd.min(left).max(0.0)).await {
            Ok(result) => {
                batch.fixed += usize::from(result.verdict == Verdict::Fixed);
                batch.total_cost_usd += result.model.cost_usd.unwrap_or(0.0);
                entry.result = Some(result);
            }
            Err(HealError::Stopped) => return Err(HealError::Stopped),
            Err(error) => entry.error = Some(error.to_string()),
        }
        batch.entries.push(entry);
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::ModelUse;

    async fn batch(total_usd: Option<f64>) -> BatchResult {
        let files = vec!["a.spec.ts".into(), "b.spec.ts".into()];
        heal_all(files, total_usd, 0.5, |file, usd| {
            Box::pin(async move {
                assert!(usd <= 0.5 && usd <= total_usd.unwrap_or(f64::MAX));
                Ok(HealResult {
                    verdict: Verdict::Fixed,
                    reason: String::new(),
                    file,
                    attempts: vec![],
                    reviews: vec![],
                    diff: String::new(),
                    promoted: vec![],
                    proof: None,
                    test_runs: 1,
                    model: ModelUse { cost_usd: Some(0.3), ..ModelUse::default() },
                    duration_ms: 1,
                })
            })
        })
        .await
        .unwrap()
    }

    #[tokio::test]
    async fn without_a_budget_of_the_batch_every_file_is_healed() {
        let batch = batch(None).await;
        assert_eq!((batch.fixed, batch.entries.iter().filter(|entry| entry.skipped).count()), (2, 0));
        assert!((batch.total_cost_usd - 0.6).abs() < 1e-9);
    }

    #[tokio::test]
    async fn what_is_left_when_the_budget_is_spent_is_skipped() {
        let batch = batch(Some(0.2)).await;
        assert_eq!(batch.fixed, 1);
        assert!(batch.entries[1].skipped && batch.entries[1].result.is_none());
    }
}
