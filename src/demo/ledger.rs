//! The ledger: what reached the server, so that a campaign can prove that it changed nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What reached the demo's server since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Products that were truly deleted.
    pub deleted: u64,
    /// Requests that change something (not GET, HEAD or OPTIONS; logins are counted apart), in order of arrival.
    pub mutations: Vec<Mutation>,
    /// All requests, those for the ledger and the manifest excepted.
    pub requests: u64,
    /// Successful logins.
    pub logins: u64,
    /// Sessions that a visitor ended.
    pub logouts: u64,
    /// Products that exist now.
    pub products: u64,
}

/// One request that changes something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mutation {
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
}
