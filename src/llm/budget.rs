//! The shared budget and its ledger: nothing is asked that was not reserved.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::LlmError;
use crate::ui::counted;

/// What may be spent by everybody who shares it. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    max_calls: u32,
    limit_usd: Option<f64>,
    started: u32,
    held_usd: f64,
    spent_usd: f64,
    ledger: Vec<CallRecord>,
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// What it was for.
    pub purpose: String,
    /// The model, or `agent command`.
    pub model: String,
    /// Tokens of the question, as the provider counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_tokens: Option<u64>,
    /// USD; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// `answered`, or what came instead of an answer.
    pub outcome: String,
}

/// What was spent, with every request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUse {
    /// Requests that were sent.
    pub calls: u32,
    /// USD; absent: the cost of a request is not known, because the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens of the questions, as far as they were counted.
    pub prompt_tokens: u64,
    /// Tokens of the answers.
    pub answer_tokens: u64,
    /// Every request, in the order of their ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<CallRecord>,
}

impl ModelUse {
    /// One line for people.
    #[must_use]
    pub fn line(&self) -> String {
        let cost = match self.cost_usd {
            Some(usd) => format!("{usd:.4} USD"),
            None => "cost not known (the model has no price in the settings)".to_owned(),
        };
        let tokens = format!("{} + {} tokens", self.prompt_tokens, self.answer_tokens);
        format!("{}, {tokens}, {cost}", counted(self.calls as usize, "model call"))
    }
}

impl Budget {
    /// So many requests, and so much money.
    #[must_use]
    pub fn new(max_calls: u32, limit_usd: Option<f64>) -> Self {
        let account = Account { max_calls, limit_usd, started: 0, held_usd: 0.0, spent_usd: 0.0, ledger: Vec::new() };
        Self(Arc::new(Mutex::new(account)))
    }

    /// What was spent up to now.
    #[must_use]
    pub fn spent(&self) -> ModelUse {
        let account = self.account();
        let sum = |of: fn(&CallRecord) -> Option<u64>| account.ledger.iter().filter_map(of).sum();
        ModelUse {
            calls: account.started,
            // The sum of nothing is minus zero.
            cost_usd: account.ledger.iter().map(|call| call.cost_usd).sum::<Option<f64>>().map(|usd| usd + 0.0),
            prompt_tokens: sum(|call| call.prompt_tokens),
            answer_tokens: sum(|call| call.answer_tokens),
            ledger: account.ledger.clone(),
        }
    }

    /// Sets one request aside at its worst price in USD (none: not known).
    pub(super) fn reserve(&self, worst_usd: Option<f64>) -> Result<Reserved, LlmError> {
        let mut account = self.account();
        if account.started >= account.max_calls {
            let limit = format!("the limit of {} is reached", counted(account.max_calls as usize, "call"));
            return Err(LlmError::Spent { limit });
        }
        let worst = worst_usd.unwrap_or(0.0);
        if let Some(limit) = account.limit_usd {
            let left = limit - account.spent_usd - account.held_usd;
            if worst > left {
                let limit =
                    format!("a call could cost {worst:.4} USD, and {:.4} of {limit} USD are left", left.max(0.0));
                return Err(LlmError::Spent { limit });
            }
        }
        account.started += 1;
        account.held_usd += worst;
        Ok(Reserved { budget: self.clone(), worst, settled: false })
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request that was set aside. Dropped unsettled, it counts at its worst price.
#[derive(Debug)]
pub(super) struct Reserved {
    budget: Budget,
    worst: f64,
    settled: bool,
}

impl Reserved {
    /// The worst price, in USD.
    pub(super) fn worst(&self) -> f64 {
        self.worst
    }

    /// The request has ended like this.
    pub(super) fn settle(mut self, record: CallRecord) {
        self.settled = true;
        let mut account = self.budget.account();
        account.held_usd -= self.worst;
        account.spent_usd += record.cost_usd.unwrap_or(0.0);
        account.ledger.push(record);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if !self.settled {
            let mut account = self.budget.account();
            account.held_usd -= self.worst;
            account.spent_usd += self.worst;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(cost_usd: Option<f64>) -> CallRecord {
        CallRecord {
            purpose: "p".into(),
            model: "m".into(),
            prompt_tokens: Some(10),
            answer_tokens: None,
            cost_usd,
            duration_ms: 1,
            outcome: "answered".into(),
        }
    }

    #[test]
    fn the_last_call_is_refused_before_it_is_made() {
        let budget = Budget::new(2, None);
        budget.reserve(None).unwrap().settle(record(None));
        drop(budget.reserve(None).unwrap());
        assert!(budget.reserve(None).unwrap_err().to_string().contains("limit of 2 calls"));
    }

    #[test]
    fn two_calls_at_once_cannot_both_take_the_last_cent() {
        let budget = Budget::new(9, Some(1.0));
        let first = budget.reserve(Some(0.6)).unwrap();
        assert!(budget.reserve(Some(0.6)).is_err());
        first.settle(record(Some(0.1)));
        assert!(budget.reserve(Some(0.6)).is_ok());
    }

    #[test]
    fn one_call_of_unknown_price_makes_the_cost_unknown() {
        let budget = Budget::new(9, None);
        assert_eq!(budget.spent().cost_usd, Some(0.0));
        budget.reserve(Some(0.5)).unwrap().settle(record(Some(0.25)));
        assert_eq!(budget.spent().cost_usd, Some(0.25));
        budget.reserve(None).unwrap().settle(record(None));
        assert_eq!((budget.spent().cost_usd, budget.spent().prompt_tokens), (None, 20));
    }

    proptest! {
        #[test]
        fn no_sequence_of_calls_spends_more_than_the_limit(
            calls in proptest::collection::vec((0.0..0.5_f64, 0.0..1.0_f64, any::<bool>()), 0..30)
        ) {
            let budget = Budget::new(20, Some(1.0));
            for (worst, share, settles) in calls {
                let Ok(reserved) = budget.reserve(Some(worst)) else { continue };
                if settles { reserved.settle(record(Some(worst * share))) }
            }
            prop_assert!(budget.account().spent_usd <= 1.0 + 1e-9);
            prop_assert!(budget.spent().calls <= 20);
        }
    }
}
