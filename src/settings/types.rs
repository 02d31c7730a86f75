//! What can be set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings as one source gives them: everything optional. The form in the state and in `agent-test.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Overrides {
    /// Routes in one batch of tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u32>,
    /// Routes in one batch of reviews.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_batch_size: Option<u32>,
    /// Whether destructive actions may be confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safe_to_mutate: Option<bool>,
    /// Requests (`METHOD /path*`) that are let through although they are not read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_request: Option<Vec<String>>,
    /// Origins that count as the application's own, besides that of the base URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_origins: Option<Vec<String>>,
    /// How to log in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<Login>,
    /// File with cookies and storage of a session that is logged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_state: Option<String>,
    /// Size of the window: width, height in CSS pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewport: Option<[u32; 2]>,
    /// Whether the explorer opens menus with the right button.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_menus: Option<bool>,
    /// Limits of one route's exploration.
    #[serde(skip_serializing_if = "PartialLimits::is_empty")]
    pub limits: PartialLimits,
    /// The model that is asked where one is needed.
    #[serde(skip_serializing_if = "ModelSettings::is_empty")]
    pub model: ModelSettings,
    /// Browsers side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Whether a step fails when the page throws, its document is 404, or its control is disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict_oracles: Option<bool>,
    /// Whether a step fails when a same-site document, xhr or fetch answers 5xx.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_on_5xx: Option<bool>,
}

/// The model that is asked where one is needed: which, at what price, how often. Never its key, and never its address:
/// a file that came along with a repository must not lead a key astray.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelSettings {
    /// `PROVIDER/MODEL`, such as `openai/gpt-4o-mini`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// USD for a million tokens of a question; 0 = free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_usd_per_million: Option<f64>,
    /// USD for a million tokens of an answer; 0 = free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_usd_per_million: Option<f64>,
    /// Most requests of one command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// Most money of one command, in USD; needs the prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
}

impl ModelSettings {
    /// Whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These settings, and the other source's where they are silent. Prices belong to a model: those of another one are
    /// not taken over.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let same = self.name.is_none() || other.name.is_none() || self.name == other.name;
        let price = |price: Option<f64>| price.filter(|_| same);
        Self {
            name: self.name.or(other.name),
            prompt_usd_per_million: self.prompt_usd_per_million.or(price(other.prompt_usd_per_million)),
            answer_usd_per_million: self.answer_usd_per_million.or(price(other.answer_usd_per_million)),
            max_calls: self.max_calls.or(other.max_calls),
            budget_usd: self.budget_usd.or(other.budget_usd),
        }
    }
}

/// How to log in. Names of environment variables, never what they hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Login {
    /// Route or address of the login page.
    pub url: String,
    /// Environment variable that holds the user name.
    #[serde(default = "username_variable")]
    pub username_env: String,
    /// Environment variable that holds the password.
    #[serde(default = "password_variable")]
    pub password_env: String,
    /// Where the user name goes, when it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username_locator: Option<String>,
    /// Where the password goes, when it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_locator: Option<String>,
    /// What sends the form, when it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_locator: Option<String>,
}

fn username_variable() -> String {
    crate::env::USERNAME.to_owned()
}

fn password_variable() -> String {
    crate::env::PASSWORD.to_owned()
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $default:literal),+ $(,)?) => {
        /// Limits of one route's exploration.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct Limits {
            $($(#[$doc])* pub $name: $kind,)+
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        /// Limits as one source gives them.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct PartialLimits {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<$kind>,)+
        }

        impl PartialLimits {
            /// Whether no limit is set.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            /// These limits, and the other source's where they are silent.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($name: self.$name.or(other.$name),)+ }
            }

            /// These limits over the defaults.
            #[must_use]
            pub fn or_default(self) -> Limits {
                let default = Limits::default();
                Limits { $($name: self.$name.unwrap_or(default.$name),)+ }
            }
        }
    };
}

limits! {
    /// Actions on one route.
    actions: u32 = 500,
    /// Actions in a row that lead deeper.
    depth: u32 = 8,
    /// Seconds for one route.
    wall_time_s: u64 = 600,
    /// Milliseconds until a screen must be still.
    settle_ms: u64 = 5000,
    /// Distinct screens of one route.
    screens: u32 = 200,
    /// Windows open at once.
    windows: u32 = 5,
    /// Nodes of a page that are looked at.
    page_nodes: u32 = 50_000,
}

impl Overrides {
    /// These settings, and the other source's where they are silent.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            batch_size: self.batch_size.or(other.batch_size),
            review_batch_size: self.review_batch_size.or(other.review_batch_size),
            safe_to_mutate: self.safe_to_mutate.or(other.safe_to_mutate),
            allow_request: self.allow_request.or(other.allow_request),
            own_origins: self.own_origins.or(other.own_origins),
            login: self.login.or(other.login),
            storage_state: self.storage_state.or(other.storage_state),
            viewport: self.viewport.or(other.viewport),
            context_menus: self.context_menus.or(other.context_menus),
            limits: self.limits.or(other.limits),
            model: self.model.or(other.model),
            workers: self.workers.or(other.workers),
            strict_oracles: self.strict_oracles.or(other.strict_oracles),
            fail_on_5xx: self.fail_on_5xx.or(other.fail_on_5xx),
        }
    }
}

/// The settings that hold, every one with a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    /// Routes in one batch of tests.
    pub batch_size: u32,
    /// Routes in one batch of reviews.
    pub review_batch_size: u32,
    /// Whether destructive actions may be confirmed.
    pub safe_to_mutate: bool,
    /// Requests (`METHOD /path*`) that are let through although they are not read-only.
    pub allow_request: Vec<String>,
    /// Origins that count as the application's own, besides that of the base URL.
    pub own_origins: Vec<String>,
    /// How to log in.
    pub login: Option<Login>,
    /// File with cookies and storage of a session that is logged in.
    pub storage_state: Option<String>,
    /// Size of the window: width, height in CSS pixels.
    pub viewport: [u32; 2],
    /// Whether the explorer opens menus with the right button; not unless told so.
    pub context_menus: bool,
    /// Limits of one route's exploration.
    pub limits: Limits,
    /// The model that is asked where one is needed.
    pub model: ModelSettings,
    /// Browsers side by side; half the cores unless told otherwise.
    pub workers: u32,
    /// Whether a step fails when the page throws, its document is 404, or its control is disabled; on unless told
    /// otherwise.
    pub strict_oracles: bool,
    /// Whether a step fails when a same-site document, xhr or fetch answers 5xx; on unless told otherwise.
    pub fail_on_5xx: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Overrides::default().into()
    }
}

/// Half the cores, at least one.
fn half_the_cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores / 2).unwrap_or(1).max(1)
}

impl From<Overrides> for Settings {
    fn from(set: Overrides) -> Self {
        Self {
            batch_size: set.batch_size.unwrap_or(3).max(1),
            review_batch_size: set.review_batch_size.unwrap_or(5).max(1),
            safe_to_mutate: set.safe_to_mutate.unwrap_or(false),
            allow_request: set.allow_request.unwrap_or_default(),
            own_origins: set.own_origins.unwrap_or_default(),
            login: set.login,
            storage_state: set.storage_state,
            viewport: set.viewport.unwrap_or([1280, 800]),
            context_menus: set.context_menus.unwrap_or(false),
            limits: set.limits.or_default(),
            model: set.model,
            workers: set.workers.unwrap_or_else(half_the_cores).max(1),
            strict_oracles: set.strict_oracles.unwrap_or(true),
            fail_on_5xx: set.fail_on_5xx.unwrap_or(true),
        }
    }
}
