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
