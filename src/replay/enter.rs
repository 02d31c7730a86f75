//! The way onto the stage: who logs in, the cookies to begin with, and the browser's driver.

use std::path::{Path, PathBuf};

use serde_json::Value;
use url::Url;

use super::login::Credentials;
use super::stage::Stage;
use crate::browser::driver::{Driver, DriverError, DriverOptions, default_runtime_dir, reach_webdriver};
use crate::browser::{Launcher, install_tls};
use crate::exit::{Exit, Explain};
use crate::settings::Settings;
use crate::store;

/// Why the stage could not be entered.
#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    /// No browser.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A file with a session's cookies does not fit.
    #[error("cannot use the storage state `{path}`: {reason}")]
    StorageState {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A variable that the login names is not set.
    #[error("the login names the environment variable {0}, which is not set")]
    NoCredential(String),
}

impl Explain for EnterError {
    fn exit(&self) -> Exit {
        match self {
            Self::Driver(error) => error.exit(),
            Self::StorageState { .. } | Self::NoCredential(_) => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Driver(error) => error.hint(),
            Self::StorageState { .. } => Some("it is the JSON that Playwright's `storageState` writes".to_owned()),
            Self::NoCredential(name) => Some(format!("set {name}, or take [login] out of `agent-test.toml`")),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Driver(error) => error.code(),
            Self::StorageState { .. } => "bad_storage_state",
            Self::NoCredential(_) => "no_credential",
        }
    }
}

/// What the stage is entered with.
#[derive(Clone, Debug)]
pub struct EnterOptions {
    /// Address of the application.
    pub base: Url,
    /// Settings that hold.
    pub settings: Settings,
    /// A running WebDriver in place of a driver of our own.
    pub webdriver: Option<Url>,
    /// Who logs in, in place of what the environment says.
    pub credentials: Option<Credentials>,
}

/// Everything is read; only the browser is missing.
#[derive(Debug)]
pub struct Prepared {
    options: EnterOptions,
    storage_state: Option<Value>,
    root: PathBuf,
}

impl EnterOptions {
    /// Reads what the settings name: credentials from the environment, cookies from a file below `root`.
    ///
    /// # Errors
    /// [`EnterError::NoCredential`], [`EnterError::StorageState`].
    pub fn prepare(mut self, root: &Path) -> Result<Prepared, EnterError> {
        if self.credentials.is_none() {
            self.credentials = credentials(&self.settings)?;
        }
        let storage_state = storage_state(root, &self.settings)?;
        Ok(Prepared { options: self, storage_state, root: root.to_owned() })
    }
}

impl Prepared {
    /// Starts the driver, or reaches the one that runs. Gives back the stage and the driver's address.
    ///
    /// # Errors
    /// [`EnterError::Driver`].
    pub async fn enter(self) -> Result<(Stage, Url), EnterError> {
        install_tls();
        let (launcher, webdriver) = match &self.options.webdriver {
            Some(url) => {
                reach_webdriver(url).await?;
                (Launcher::remote(url.clone()), url.clone())
            }
            None => {
                let driver = Driver::start(&DriverOptions::new(default_runtime_dir()?)).await?;
                let url = driver.url().clone();
                (Launcher::own(driver), url)
            }
        };
        let EnterOptions { base, settings, credentials, .. } = self.options;
        let launcher = launcher.with_storage_state(self.storage_state).with_viewport(settings.viewport);
        Ok((Stage { base, settings, credentials, files: self.root, launcher }, webdriver))
    }
}

fn credentials(settings: &Settings) -> Result<Option<Credentials>, EnterError> {
    let get = |name: &str| crate::env::get(name);
    if let Some(login) = &settings.login {
        let read = |name: &str, other: &str| {
            get(name)
                .or_else(|| {
                    (name == crate::env::USERNAME || name == crate::env::PASSWORD).then(|| get(other)).flatten()
                })
                .ok_or_else(|| EnterError::NoCredential(name.to_owned()))
        };
        return Ok(Some(Credentials {
            username: read(&login.username_env, crate::env::MONKEY_USERNAME)?,
            password: read(&login.password_env, crate::env::MONKEY_PASSWORD)?,
        }));
    }
    let username = crate::env::first(&[crate::env::USERNAME, crate::env::MONKEY_USERNAME]);
    let password = crate::env::first(&[crate::env::PASSWORD, crate::env::MONKEY_PASSWORD]);
    Ok(username.zip(password).map(|(username, password)| Credentials { username, password }))
}

fn storage_state(root: &Path, settings: &Settings) -> Result<Option<Value>, EnterError> {
    let Some(path) = &settings.storage_state else { return Ok(None) };
    let bad = |reason: String| EnterError::StorageState { path: path.clone(), reason };
    let text = store::read_to_string(&root.join(path)).map_err(|error| bad(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    let is_list = |key: &str| value.get(key).is_some_and(Value::is_array);
    if !is_list("cookies") && !is_list("origins") {
        let what = "it holds neither a list `cookies` nor a list `origins`, as Playwright's `storageState` writes them";
        return Err(bad(what.to_owned()));
    }
    Ok(Some(value))
}
