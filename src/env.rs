//! Every environment variable that the program reads, with its meaning. Nothing else reads the environment.
//!
//! Order of configuration: flags, then `AGENT_TEST_*`, then the origin's `MONKEY_TEST_*`, then `agent-test.toml`, then
//! the campaign's settings.

/// Where the campaign lies; default: found upwards from the working directory.
pub const PROJECT_DIR: &str = "AGENT_TEST_PROJECT_DIR";
/// Address of the application under test.
pub const BASE_URL: &str = "AGENT_TEST_BASE_URL";
/// User name for the login (the secret itself is never stored, only this name).
pub const USERNAME: &str = "AGENT_TEST_USERNAME";
/// Password for the login (never stored).
pub const PASSWORD: &str = "AGENT_TEST_PASSWORD";
/// What variables begin with that any trace may have typed (`AGENT_TEST_SECRET_PIN`).
pub const SECRET_PREFIX: &str = "AGENT_TEST_SECRET_";
/// Key of the project's recordings: those that are written are signed with it, and only signed ones are played.
pub const CACHE_KEY: &str = "AGENT_TEST_CACHE_KEY";
/// A running WebDriver to use in place of our own chromedriver.
pub const WEBDRIVER: &str = "AGENT_TEST_WEBDRIVER";
/// Path of the Chromium binary.
pub const CHROME: &str = "AGENT_TEST_CHROME";
/// Path of the chromedriver binary.
pub const CHROMEDRIVER: &str = "AGENT_TEST_CHROMEDRIVER";
/// How many browsers work side by side.
pub const WORKERS: &str = "AGENT_TEST_WORKERS";
/// Seconds to wait for the state's lock (default 60).
pub const LOCK_TIMEOUT: &str = "AGENT_TEST_LOCK_TIMEOUT";
/// Routes in one batch.
pub const BATCH_SIZE: &str = "AGENT_TEST_BATCH_SIZE";
/// Routes in one batch of reviews.
pub const REVIEW_BATCH_SIZE: &str = "AGENT_TEST_REVIEW_BATCH_SIZE";
/// Whether destructive actions may be confirmed.
pub const SAFE_TO_MUTATE: &str = "AGENT_TEST_SAFE_TO_MUTATE";
/// The model that is asked where one is needed: `PROVIDER/MODEL`; nothing is asked without one.
pub const MODEL: &str = "AGENT_TEST_MODEL";
/// Address of the model, in place of its provider's own.
pub const MODEL_URL: &str = "AGENT_TEST_MODEL_URL";
/// A program that answers in place of a model.
pub const AGENT_COMMAND: &str = "AGENT_TEST_AGENT_COMMAND";
/// Seconds for one answer of the model or the program (default 120).
pub const MODEL_TIMEOUT: &str = "AGENT_TEST_MODEL_TIMEOUT";
/// Key of the provider `anthropic` (never stored, never shown; like the four below).
pub const ANTHROPIC_API_KEY: &str = "ANTHROPIC_API_KEY";
/// Key of the provider `openai`.
pub const OPENAI_API_KEY: &str = "OPENAI_API_KEY";
/// Key of the provider `gemini`.
pub const GEMINI_API_KEY: &str = "GEMINI_API_KEY";
/// Key of the provider `openrouter`.
pub const OPENROUTER_API_KEY: &str = "OPENROUTER_API_KEY";
/// Key of the provider `openai_compatible`; a server that wants none gets none.
pub const OPENAI_COMPATIBLE_API_KEY: &str = "OPENAI_COMPATIBLE_API_KEY";
/// Address of the provider `openai_compatible`, up to and with `/v1`.
pub const OPENAI_COMPATIBLE_BASE_URL: &str = "OPENAI_COMPATIBLE_BASE_URL";
/// Key of an own address, under the name that `vlmkit-heal` reads; after `OPENAI_COMPATIBLE_API_KEY`.
pub const VLMKIT_HEAL_BASEURL_KEY: &str = "VLMKIT_HEAL_BASEURL_KEY";
/// Log filter for diagnostics on stderr (`tracing` syntax); `journal=trace` tells all that is done to the browser.
pub const LOG: &str = "AGENT_TEST_LOG";
/// Identity of the session that calls (recorded with claims).
pub const SESSION: &str = "AGENT_TEST_SESSION";
/// Tests only: the clock stands at this RFC 3339 time.
pub const TEST_NOW: &str = "AGENT_TEST_INTERNAL_NOW";
/// Tests only: the clock since the machine's start stands at this `ID:MILLISECONDS`.
pub const TEST_BOOT: &str = "AGENT_TEST_INTERNAL_BOOT";
/// The origin's names, read after ours.
pub const MONKEY_BASE_URL: &str = "MONKEY_TEST_BASE_URL";
/// The origin's user name.
pub const MONKEY_USERNAME: &str = "MONKEY_TEST_USERNAME";
/// The origin's password.
pub const MONKEY_PASSWORD: &str = "MONKEY_TEST_PASSWORD";
/// The origin's batch size.
pub const MONKEY_BATCH_SIZE: &str = "MONKEY_TEST_BATCH_SIZE";
/// The origin's safety switch.
pub const MONKEY_SAFE_TO_MUTATE: &str = "MONKEY_TEST_SAFE_TO_MUTATE";
/// No colour when set to anything.
pub const NO_COLOR: &str = "NO_COLOR";
/// Set by CI systems: no colour, no progress bars.
pub const CI: &str = "CI";

/// The variable's value when it is set and not empty.
#[must_use]
pub fn get(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether the variable is set and not empty.
#[must_use]
pub fn is_set(name: &str) -> bool {
    get(name).is_some()
}

/// Variables whose names speak of secrets, with their values. Not those too short to be one.
#[must_use]
pub fn secrets() -> Vec<(String, String)> {
    const WORDS: [&str; 8] =
        ["PASSWORD", "PASSWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "PRIVATE_KEY", "CREDENTIAL"];
    let speaks = |name: &str| {
        let name = name.to_uppercase();
        name == VLMKIT_HEAL_BASEURL_KEY || WORDS.iter().any(|word| name.contains(word))
    };
    // A value that is no text cannot stand in one.
    let texts =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, value)| value.len() >= 6 && speaks(name)).collect()
}

/// The first of these variables that is set.
#[must_use]
pub fn first(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| get(name))
}

/// Whether a switch variable says yes (`1`, `true`, `yes`, `on`).
#[must_use]
pub fn is_true(name: &str) -> bool {
    get(name).is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
}
