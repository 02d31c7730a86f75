//! The one room that talks to a model: which one, what it is asked, what it may cost, what it answered.
//!
//! Why a room: keys, prices, limits and the mistrust towards what comes back are the same for every engine. An engine asks
//! a typed [`Question`] and gets a typed answer ([`Model::ask`]); it never sees a provider. Several models (tiers) may
//! share one [`Budget`].
//!
//! The three wire shapes (Anthropic Messages, OpenAI chat completions with everything compatible, Gemini
//! generateContent) are written here on the HTTP client that the program has anyway. A client library was tried
//! (`genai` 0.7): it reads an answer to its end however long it is, unpacks it without a limit, and brings 49 more crates
//! for the one call that is made here.
//!
//! Invariants
//! * Without configuration nothing is ever called: there is no default model.
//! * A key comes from the environment, goes to its provider's address and nowhere else: no redirect is followed, it does
//!   not travel unencrypted beyond this machine, and it is cut out of every error. The address of a provider is given by
//!   flag or environment, never by a file that a repository brings along.
//! * Every request is reserved at its worst price before it is sent, counted, and written into the ledger.
//! * What a page says stands between fences whose mark is new in every call; it is data.
//! * An answer is bounded in size and time, and is what its type says or an error.

mod agent;
mod answer;
mod budget;
mod error;
mod http;
mod model;
mod name;
mod price_list;
mod question;
mod wire;

pub use budget::{Budget, CallRecord, ModelUse};
pub use error::LlmError;
pub use model::{Answer, Model, ModelOptions};
pub use name::{ModelName, Prices, Provider};
pub use price_list::PriceList;
pub use question::Question;
