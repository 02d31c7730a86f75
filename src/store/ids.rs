//! Ids and tokens, injected like the clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes tokens that nobody else makes. Cheap to clone; clones share the sequence.
#[derive(Clone, Debug, Default)]
pub struct Ids {
    counted: Option<Arc<AtomicU64>>,
}

impl Ids {
    /// UUIDs of version 7: sortable by time, not to be guessed.
    #[must_use]
    pub fn random() -> Self {
        Self { counted: None }
    }

    /// `token-1`, `token-2`, … for tests.
    #[must_use]
    pub fn counted() -> Self {
        Self { counted: Some(Arc::default()) }
    }

    /// A new token.
    #[must_use]
    pub fn token(&self) -> String {
        match &self.counted {
            Some(count) => format!("token-{}", count.fetch_add(1, Ordering::Relaxed) + 1),
            None => uuid::Uuid::now_v7().to_string(),
        }
    }
}
