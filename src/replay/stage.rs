//! The stage: an application, and what it takes to enter it. Every engine begins its sessions here.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use url::Url;

use super::login::{Credentials, LoggedIn, is_login_address, log_in};
use super::oracle::Oracles;
use super::perform::{Effect, Terms, open};
use crate::browser::{Launcher, Mode, Policy, Session, SessionError};
use crate::settings::Settings;
use crate::trace::{RunFile, RunSettings, page_key};

/// An application, and what it takes to enter it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Address of the application.
    pub base: Url,
    /// Settings that hold.
    pub settings: Settings,
    /// Who logs in, if anybody does.
    pub credentials: Option<Credentials>,
    /// Files that steps upload are named relative to this directory: the project.
    pub files: PathBuf,
    /// Gives out browser sessions.
    pub launcher: Launcher,
}

/// Why the stage could not be entered.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The browser was lost, or the application cannot be reached.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The login failed.
    #[error("the login failed: {0}")]
    Login(String),
}

/// Variables that the login of these settings is read from.
#[must_use]
pub fn login_variables(settings: &Settings) -> Vec<String> {
    let own = settings.login.iter().flat_map(|login| [login.username_env.clone(), login.password_env.clone()]);
    let usual = [crate::env::USERNAME, crate::env::PASSWORD, crate::env::MONKEY_USERNAME, crate::env::MONKEY_PASSWORD];
    own.chain(usual.map(str::to_owned)).collect()
}

/// A page that was opened, logged in where that was needed.
#[derive(Clone, Debug)]
pub struct Opened {
    /// What came of opening the page.
    pub effect: Effect,
    /// A screenshot right after the login.
    pub login_shot: Option<Vec<u8>>,
    /// Whether a login was done.
    pub logged_in: bool,
}

impl Stage {
    /// What may leave the browser.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            base: Some(self.base.clone()),
            own_origins: self.settings.own_origins.clone(),
            safe_to_mutate: self.settings.safe_to_mutate,
            allow: self.settings.allow_request.clone(),
        }
    }

    /// Variables that the login is read from: a trace may type what they hold.
    #[must_use]
    pub fn login_variables(&self) -> Vec<String> {
        login_variables(&self.settings)
    }

    /// Which oracles fail a step.
    #[must_use]
    pub fn oracles(&self) -> Oracles {
        Oracles::from(&self.settings)
    }

    /// How an action is guarded, and how long it may take.
    #[must_use]
    pub fn terms(&self) -> Terms {
        Terms {
            mode: Mode::Act { destructive: false },
            cap_ms: self.settings.limits.settle_ms,
            nodes: u64::from(self.settings.limits.page_nodes),
            passing: false,
        }
    }

    /// A run of this application that holds nothing yet; `source` says who acts in it.
    #[must_use]
    pub fn run_file(&self, now: DateTime<Utc>, source: &str) -> RunFile {
        RunFile {
            schema_version: 1,
            id: String::new(),
            base_url: self.base.to_string(),
            source: Some(source.to_owned()),
            started_at: now,
            finished_at: None,
            tool_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            settings: RunSettings {
                strict_oracles: self.settings.strict_oracles,
                fail_on_5xx: self.settings.fail_on_5xx,
                safe_to_mutate: self.settings.safe_to_mutate,
                viewport: Some(self.settings.viewport),
                storage_state: None,
            },
            flows: Vec::new(),
            bugs: Vec::new(),
        }
    }

    /// Begins a fresh session.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn session(&self) -> Result<Session, SessionError> {
        self.launcher.session(self.policy()).await
    }

    /// Opens a page; logs in where credentials are set and a login page is met.
    ///
    /// # Errors
    /// [`StageError`].
    pub async fn open(&self, session: &Session, url: &Url) -> Result<Opened, StageError> {
        let recipe = self.settings.login.as_ref();
        let terms = self.terms();
        let mut login_shot = None;
        let mut logged_in = false;
        if let (Some(credentials), Some(recipe)) = (&self.credentials, recipe) {
            let login = self
                .base
                .join(&recipe.url)
                .map_err(|error| StageError::Login(format!("`{}` is no address: {error}", recipe.url)))?;
            let opened = open(session, &login, terms).await?;
            match log_in(session, &opened.look, Some(recipe), credentials, terms).await? {
                LoggedIn::Yes => {
                    logged_in = true;
                    login_shot = session.screenshot().await.ok();
                }
                LoggedIn::NotAsked => {}
                LoggedIn::No(why) => return Err(StageError::Login(why)),
            }
        }
        let mut effect = open(session, url, terms).await?;
        let redirected = page_key(&effect.look.url) != page_key(url.as_str());
        if let Some(credentials) = &self.credentials
            && !logged_in
            && effect.look.passwords == 1
            && (redirected || is_login_address(&effect.look.url))
        {
            match log_in(session, &effect.look, recipe, credentials, terms).await? {
                LoggedIn::Yes => {
                    logged_in = true;
                    login_shot = session.screenshot().await.ok();
                }
                LoggedIn::NotAsked => {}
                LoggedIn::No(why) => return Err(StageError::Login(why)),
            }
            effect = open(session, url, terms).await?;
        }
        Ok(Opened { effect, login_shot, logged_in })
    }
}
