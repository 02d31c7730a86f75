//! Where settings come from, and which source wins.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::check::misfit;
use super::{ModelSettings, Overrides, SettingsError};
use crate::env;
use crate::store;
use crate::ui::counted;

/// Name of the configuration file at the project root.
pub const CONFIG_FILE: &str = "agent-test.toml";

/// `agent-test.toml`, or what the environment says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Address of the application under test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Name of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Everything else.
    #[serde(skip)]
    pub settings: Overrides,
}

/// The shape of `agent-test.toml`, for its JSON Schema: [`Config`] with every key at the top.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SettingsFile {
    /// Address of the application under test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Name of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub settings: Overrides,
}

const KEYS: &[&str] = &[
    "base_url",
    "project",
    "batch_size",
    "review_batch_size",
    "safe_to_mutate",
    "allow_request",
    "own_origins",
    "login",
    "storage_state",
    "viewport",
    "context_menus",
    "limits",
    "model",
    "workers",
    "strict_oracles",
    "fail_on_5xx",
];
const LIMIT_KEYS: &[&str] = &["actions", "depth", "wall_time_s", "settle_ms", "screens", "windows", "page_nodes"];
const MODEL_KEYS: &[&str] = &["name", "prompt_usd_per_million", "answer_usd_per_million", "max_calls", "budget_usd"];
const LOGIN_KEYS: &[&str] =
    &["url", "username_env", "password_env", "username_locator", "password_locator", "submit_locator"];

/// A misspelt key would silently not be set.
fn refuse_unknown(what: &str, table: &toml::Table, known: &[&str]) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("there is no {what} named `{key}`; there are {}", known.join(", "))),
        None => Ok(()),
    }
}

impl Config {
    /// Reads `agent-test.toml` at this project root; nothing is set when it is missing.
    ///
    /// # Errors
    /// When it cannot be read, is not TOML, or holds a key or value that does not fit.
    pub fn from_file(root: &Path) -> Result<Self, SettingsError> {
        let path = root.join(CONFIG_FILE);
        let Some(text) = store::read_to_string_if_exists(&path)? else { return Ok(Self::default()) };
        Self::from_toml(&text).map_err(|reason| SettingsError::Config { path, reason })
    }

    pub(super) fn from_toml(text: &str) -> Result<Self, String> {
        let reason = |error: toml::de::Error| {
            let line =
                error.span().map_or(1, |span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
            // The library speaks of its own types.
            let problem = if error.message().contains("i128") { "the number is too large" } else { error.message() };
            format!("line {line}: {problem}")
        };
        let table: toml::Table = toml::from_str(text).map_err(reason)?;
        refuse_unknown("setting", &table, KEYS)?;
        for (name, keys) in [("limits", LIMIT_KEYS), ("login", LOGIN_KEYS), ("model", MODEL_KEYS)] {
            if let Some(toml::Value::Table(table)) = table.get(name) {
                refuse_unknown(&format!("key in [{name}]"), table, keys)?;
            }
        }
        if let Some(toml::Value::Array(sides)) = table.get("viewport")
            && sides.len() != 2
        {
            return Err(format!("`viewport` holds {}, expected width and height", counted(sides.len(), "number")));
        }
        let mut config: Self = toml::from_str(text).map_err(reason)?;
        config.settings = toml::from_str(text).map_err(reason)?;
        match misfit(&config.settings) {
            Some((name, problem)) => Err(format!("`{name}` {problem}")),
            None => Ok(config),
        }
    }

    /// What the environment says: `AGENT_TEST_*` before `MONKEY_TEST_*`.
    ///
    /// # Errors
    /// When a variable does not hold what it should.
    pub fn from_env() -> Result<Self, SettingsError> {
        Ok(Self {
            base_url: env::first(&[env::BASE_URL, env::MONKEY_BASE_URL]),
            project: None,
            settings: Overrides {
                batch_size: number(&[env::BATCH_SIZE, env::MONKEY_BATCH_SIZE])?,
                review_batch_size: number(&[env::REVIEW_BATCH_SIZE])?,
                safe_to_mutate: switch(&[env::SAFE_TO_MUTATE, env::MONKEY_SAFE_TO_MUTATE])?,
                workers: number(&[env::WORKERS])?,
                model: ModelSettings { name: env::get(env::MODEL), ..ModelSettings::default() },
                ..Overrides::default()
            },
        })
    }

    /// What this source says, and the other's where it is silent.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            base_url: self.base_url.or(other.base_url),
            project: self.project.or(other.project),
            settings: self.settings.or(other.settings),
        }
    }
}

/// What holds: flags, then the environment, then `agent-test.toml`, then the campaign's own.
///
/// # Errors
/// When a source cannot be read or does not fit.
pub fn resolve(flags: Config, root: &Path, campaign: Config) -> Result<Config, SettingsError> {
    let all = flags.or(Config::from_env()?).or(Config::from_file(root)?).or(campaign);
    match misfit(&all.settings) {
        Some((name, reason)) => Err(SettingsError::Bad { name, reason }),
        None => Ok(all),
    }
}

fn number(names: &[&'static str]) -> Result<Option<u32>, SettingsError> {
    parsed(names, "a number above 0", |text| text.trim().parse().ok().filter(|number| *number > 0))
}

fn switch(names: &[&'static str]) -> Result<Option<bool>, SettingsError> {
    parsed(names, "true or false", |text| match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    })
}

fn parsed<T>(
    names: &[&'static str],
    expected: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, SettingsError> {
    for name in names {
        if let Some(value) = env::get(name) {
            return parse(&value).map(Some).ok_or(SettingsError::Variable { name, value, expected });
        }
    }
    Ok(None)
}

/// Checks the variables that set how long something is waited for: they are read deep inside, where a wrong one could only
/// be passed over.
///
/// # Errors
/// [`SettingsError::Variable`].
pub fn check_waits() -> Result<(), SettingsError> {
    let seconds = |text: &str| text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    parsed(&[env::LOCK_TIMEOUT], "a number of seconds", seconds)?;
    let whole = |text: &str| text.trim().parse::<u64>().ok().filter(|seconds| *seconds > 0);
    parsed(&[env::MODEL_TIMEOUT], "a whole number of seconds above 0", whole).map(|_| ())
}

/// Parses a base URL: http or https, without credentials.
///
/// # Errors
/// When it is anything else.
pub fn parse_base_url(text: &str) -> Result<Url, SettingsError> {
    parse_address("base_url", text)
}

/// As [`parse_base_url`], for an address that was given under another name, such as a flag.
///
/// # Errors
/// As [`parse_base_url`].
pub fn parse_address(name: &'static str, text: &str) -> Result<Url, SettingsError> {
    let text = text.trim();
    let bad = |reason: String| SettingsError::Bad { name, reason };
    let url = Url::parse(text).map_err(|error| bad(format!("is {}, which is no URL ({error})", shown(text))))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("is {}, which is no http or https address", shown(text))));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad(format!(
            "holds credentials, which would be stored; take them out and name the variables of a login instead ({}, {})",
            env::USERNAME,
            env::PASSWORD
        )));
    }
    Ok(url)
}

/// An address in a message: without what may be a secret in it.
fn shown(text: &str) -> String {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let (plain, rest) = text.split_at(end);
    let plain = plain.rsplit_once('@').map_or_else(|| plain.to_owned(), |(_, after)| format!("…@{after}"));
    let short: String = plain.chars().take(100).collect();
    let cut = !rest.is_empty() || short.len() < plain.len();
    format!("`{short}{}`", if cut { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_the_campaigns_keys_and_two_more() {
        let config = Config::from_toml(
            "base_url = \"http://h\"\nproject = \"p\"\nbatch_size = 7\n[limits]\ndepth = 2\n[login]\nurl = \"/login\"\n",
        )
        .unwrap();
        assert_eq!(config.settings.batch_size, Some(7));
        let settings: crate::settings::Settings = config.settings.into();
        assert_eq!((settings.limits.depth, settings.limits.actions), (2, 500));
        assert_eq!(settings.login.unwrap().password_env, "AGENT_TEST_PASSWORD");
    }

    #[test]
    fn a_misspelt_key_and_a_wrong_value_are_told_by_line() {
        assert!(Config::from_toml("batchsize = 7\n").unwrap_err().contains("batchsize"));
        assert!(Config::from_toml("[limits]\ndeepth = 7\n").unwrap_err().contains("deepth"));
        assert!(Config::from_toml("[login]\nurl = \"/l\"\nuser = \"u\"\n").unwrap_err().contains("`user`"));
        assert!(Config::from_toml("project = \"p\"\nbatch_size = \"x\"\n").unwrap_err().contains("line 2"));
    }

    #[test]
    fn the_known_keys_are_those_of_the_schema() {
        let schema = schemars::schema_for!(SettingsFile).to_value();
        let keys = |of: &serde_json::Value| -> std::collections::BTreeSet<String> {
            of["properties"].as_object().unwrap().keys().cloned().collect()
        };
        let known = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect();
        assert_eq!(keys(&schema), known(KEYS));
        assert_eq!(keys(&schema["$defs"]["PartialLimits"]), known(LIMIT_KEYS));
        assert_eq!(keys(&schema["$defs"]["Login"]), known(LOGIN_KEYS));
        assert_eq!(keys(&schema["$defs"]["ModelSettings"]), known(MODEL_KEYS));
    }

    #[test]
    fn the_earlier_source_wins_key_by_key() {
        let first = Config::from_toml("batch_size = 1\n[limits]\ndepth = 2\n").unwrap();
        let second = Config::from_toml("batch_size = 9\nworkers = 4\n[limits]\ndepth = 3\nactions = 5\n").unwrap();
        let both = first.or(second).settings;
        assert_eq!((both.batch_size, both.workers), (Some(1), Some(4)));
        assert_eq!((both.limits.depth, both.limits.actions), (Some(2), Some(5)));
    }

    #[test]
    fn the_price_of_one_model_is_not_that_of_another() {
        let file =
            || Config::from_toml("[model]\nname = \"openai/a\"\nprompt_usd_per_million = 3\nmax_calls = 7\n").unwrap();
        let flag = |name: &str| Config::from_toml(&format!("[model]\nname = \"{name}\"\n")).unwrap();
        let same = flag("openai/a").or(file()).settings.model;
        assert_eq!((same.prompt_usd_per_million, same.max_calls), (Some(3.0), Some(7)));
        let other = flag("openai/b").or(file()).settings.model;
        assert_eq!((other.prompt_usd_per_million, other.max_calls), (None, Some(7)));
    }

    #[test]
    fn a_base_url_with_credentials_is_refused_without_repeating_them() {
        let error = parse_base_url("http://me:geheim@h/").unwrap_err().to_string();
        assert!(!error.contains("geheim"), "{error}");
        let error = parse_base_url("ftp://me:geheim@h/?token=geheim").unwrap_err().to_string();
        assert!(!error.contains("geheim"), "{error}");
    }

    #[test]
    fn an_address_that_is_none_is_told_with_its_name_its_value_and_where_to_give_another() {
        use crate::exit::Explain;
        for text in ["ftp://x/", "nonsense", "javascript:1"] {
            let error = parse_base_url(text).unwrap_err();
            assert!(error.to_string().contains("base_url") && error.to_string().contains(text), "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("--base-url")), "{:?}", error.hint());
            let error = parse_address("--known-bad-url", text).unwrap_err().to_string();
            assert!(error.contains("--known-bad-url") && !error.contains("base_url"), "{error}");
        }
    }

    #[test]
    fn a_viewport_is_two_numbers() {
        for text in ["viewport = [1280]", "viewport = [1280, 800, 3]"] {
            let error = Config::from_toml(text).unwrap_err();
            assert!(error.contains("`viewport`") && error.contains("width and height"), "{error}");
        }
        assert!(Config::from_toml("viewport = [1280, 800]").is_ok());
    }

    #[test]
    fn a_number_beyond_measure_is_told_in_plain_words() {
        let error = Config::from_toml("workers = 99999999999999999999").unwrap_err();
        assert!(error.contains("line 1") && error.contains("too large") && !error.contains("i128"), "{error}");
    }
}
