//! Options of every command that works in a browser.

use url::Url;

use super::Context;
use crate::dispatch::WorkshopOptions;
use crate::exit::Failure;
use crate::route::Route;
use crate::settings::{Config, Overrides, Settings, parse_base_url, resolve};
use crate::state::State;

/// Options of every command that works in a browser.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct EngineArgs {
    /// Address of the application (default: that of the settings or the campaign)
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Use this running WebDriver in place of a chromedriver of our own
    #[arg(long, value_name = "URL", env = crate::env::WEBDRIVER)]
    pub(crate) webdriver: Option<Url>,
    /// Allow actions that change data: confirm questions, fill forms, let every request leave
    #[arg(long)]
    pub(crate) safe_to_mutate: bool,
    /// Let this request leave although it is no GET (`POST /api/search*`); may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow_request: Vec<String>,
    /// Count this origin as the application's own; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) own_origin: Vec<String>,
    /// Begin each session with these cookies (the JSON that Playwright's `storageState` writes)
    #[arg(long, value_name = "FILE")]
    pub(crate) storage_state: Option<String>,
    /// Do not play each new bug once more in a fresh session
    #[arg(long)]
    pub(crate) no_confirm: bool,
}

impl EngineArgs {
    /// What a workshop is opened with: flags, then the environment, then `agent-test.toml`, then the campaign.
    ///
    /// # Errors
    /// When a source does not fit, or none names the application's address.
    pub(crate) fn workshop(
        &self,
        context: &Context,
        state: Option<&State>,
        known: Vec<Route>,
        workers: Option<u32>,
    ) -> Result<WorkshopOptions, Failure> {
        let campaign = state.map_or_else(Config::default, |state| Config {
            base_url: Some(state.base_url()).filter(|url| !url.is_empty()),
            ..state.config()
        });
        let config = resolve(self.config(workers), &context.project, campaign)?;
        Ok(WorkshopOptions {
            base: base_url(&config)?,
            settings: Settings::from(config.settings),
            webdriver: self.webdriver.clone(),
            known,
            confirm: !self.no_confirm,
            credentials: None,
        })
    }

    /// What the flags say.
    fn config(&self, workers: Option<u32>) -> Config {
        Config {
            base_url: self.base_url.clone(),
            project: None,
            settings: Overrides {
                safe_to_mutate: self.safe_to_mutate.then_some(true),
                allow_request: (!self.allow_request.is_empty()).then(|| self.allow_request.clone()),
                own_origins: (!self.own_origin.is_empty()).then(|| self.own_origin.clone()),
                storage_state: self.storage_state.clone(),
                workers,
                ..Overrides::default()
            },
        }
    }
}

/// The address of the application, or what to do without one.
fn base_url(config: &Config) -> Result<Url, Failure> {
    let Some(text) = &config.base_url else {
        return Err(Failure::usage("no_base_url", "the address of the application is not known")
            .hinted(format!("name it with --base-url, in {}, or in `agent-test.toml`", crate::env::BASE_URL)));
    };
    Ok(parse_base_url(text)?)
}
