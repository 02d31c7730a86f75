//! Options of every command that works in a browser.

use url::Url;

use super::Context;
use crate::dispatch::WorkshopOptions;
use crate::exit::Failure;
use crate::maze::Bug;
use crate::replay::EnterOptions;
use crate::route::Route;
use crate::settings::{Config, Overrides, Settings, parse_base_url, resolve};
use crate::state::State;
use crate::verify::{RunSource, VerifyError, chosen, find_run};

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
    /// Size of the window in CSS pixels (default: 1280x800)
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = viewport)]
    pub(crate) viewport: Option<[u32; 2]>,
    #[command(flatten)]
    pub(crate) oracles: OracleArgs,
}

fn viewport(text: &str) -> Result<[u32; 2], String> {
    let parts =
        text.split_once(['x', 'X']).and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    parts.ok_or_else(|| "expected a width and a height, such as 390x844".to_owned())
}

/// Finds the run that the caller names, or the latest; says which later ones could not be read.
///
/// # Errors
/// As [`find_run`].
pub(crate) fn named_run(context: &Context, name: Option<&str>) -> Result<RunSource, VerifyError> {
    let source = find_run(&context.project, name)?;
    for problem in &source.passed_over {
        context.ui.warn(format!("{problem}; an earlier run is taken"));
    }
    Ok(source)
}

/// Options of commands that explore.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ExploreArgs {
    /// Open menus with the right button too
    #[arg(long)]
    pub(crate) context_menus: bool,
    /// Do not play each new bug once more in a fresh session
    #[arg(long)]
    pub(crate) no_confirm: bool,
}

/// Bugs of a run.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct BugArgs {
    /// The run: its id, its file, or a directory of runs (default: the latest)
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Only the bug of this fingerprint, or of one that begins like this; may be given several times
    #[arg(long = "bug", value_name = "FINGERPRINT")]
    bugs: Vec<String>,
}

impl BugArgs {
    /// The run, and the bugs of it that are named; all of them when none is.
    ///
    /// # Errors
    /// As [`named_run`] and [`chosen`].
    pub(crate) fn find(&self, context: &Context) -> Result<(RunSource, Vec<Bug>), VerifyError> {
        let source = named_run(context, self.run.as_deref())?;
        let bugs = chosen(&source.run, &self.bugs)?;
        Ok((source, bugs))
    }
}

/// Which oracles fail a step.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct OracleArgs {
    /// Fail a step when the page throws, its document is 404, or its control is disabled (the default)
    #[arg(long, overrides_with = "no_strict_oracles")]
    strict_oracles: bool,
    /// Take those for noise
    #[arg(long)]
    no_strict_oracles: bool,
    /// Fail a step when a same-site document, xhr or fetch answers 5xx (the default)
    #[arg(long = "fail-on-5xx", overrides_with = "no_fail_on_5xx")]
    fail_on_5xx: bool,
    /// Take such an answer for noise
    #[arg(long = "no-fail-on-5xx")]
    no_fail_on_5xx: bool,
}

impl OracleArgs {
    fn strict(self) -> Option<bool> {
        given(self.strict_oracles, self.no_strict_oracles)
    }

    fn on_5xx(self) -> Option<bool> {
        given(self.fail_on_5xx, self.no_fail_on_5xx)
    }
}

fn given(yes: bool, no: bool) -> Option<bool> {
    match (yes, no) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
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
        explore: &ExploreArgs,
    ) -> Result<WorkshopOptions, Failure> {
        let campaign = state.map_or_else(Config::default, |state| Config {
            base_url: Some(state.base_url()).filter(|url| !url.is_empty()),
            ..state.config()
        });
        let mut given = self.config(workers);
        given.settings.context_menus = explore.context_menus.then_some(true);
        let config = resolve(given, &context.project, campaign)?;
        Ok(WorkshopOptions {
            base: base_url(&config)?,
            settings: Settings::from(config.settings),
            webdriver: self.webdriver.clone(),
            known,
            confirm: !explore.no_confirm,
            campaign: None,
            credentials: None,
        })
    }

    /// What the stage of a replay is entered with: flags, then the environment, then `agent-test.toml`, then what the run
    /// was recorded with, then the campaign.
    ///
    /// # Errors
    /// When a source does not fit, or none names the application's address.
    pub(crate) fn stage(
        &self,
        context: &Context,
        source: &RunSource,
        workers: Option<u32>,
    ) -> Result<EnterOptions, Failure> {
        let options = self.terms(context, source, workers)?;
        let run = &source.run;
        // A run file from elsewhere does not decide who gets the password.
        let recorded = Url::parse(&run.base_url).is_ok_and(|url| url == options.base);
        let own = source.path.starts_with(context.project.join(".agent-test"));
        let credentials = options.settings.login.is_some()
            || crate::env::first(&[crate::env::PASSWORD, crate::env::MONKEY_PASSWORD]).is_some();
        if self.base_url.is_none() && recorded && !own && credentials && !is_of_this_machine(&options.base) {
            let message = format!(
                "the run {} comes from elsewhere and names {} as the application, which would get the login's password",
                run.id, run.base_url
            );
            return Err(
                Failure::usage("foreign_base_url", message).hinted("name the address with --base-url if that is meant")
            );
        }
        Ok(options)
    }

    /// The same for what opens no browser: nobody is logged in.
    ///
    /// # Errors
    /// When a source does not fit, or none names the application's address.
    pub(crate) fn terms(
        &self,
        context: &Context,
        source: &RunSource,
        workers: Option<u32>,
    ) -> Result<EnterOptions, Failure> {
        let run = &source.run;
        let project = context.project();
        let campaign = if project.has_state() { project.read()?.config() } else { Config::default() };
        let recorded = Config {
            base_url: Some(run.base_url.clone()).filter(|url| !url.is_empty()),
            project: None,
            settings: Overrides {
                strict_oracles: Some(run.settings.strict_oracles),
                fail_on_5xx: Some(run.settings.fail_on_5xx),
                storage_state: run.settings.storage_state.clone(),
                viewport: run.settings.viewport,
                ..Overrides::default()
            },
        };
        let config = resolve(self.config(workers), &context.project, recorded.or(campaign))?;
        if config.base_url.is_none() {
            return Err(VerifyError::NoBase(run.id.clone()).into());
        }
        Ok(EnterOptions {
            base: base_url(&config)?,
            settings: Settings::from(config.settings),
            webdriver: self.webdriver.clone(),
            credentials: None,
        })
    }

    /// What the stage of flows is entered with: flags, then the environment, then `agent-test.toml`, then the campaign.
    ///
    /// # Errors
    /// When a source does not fit, or none names the application's address.
    pub(crate) fn flow_stage(&self, context: &Context) -> Result<EnterOptions, Failure> {
        let project = context.project();
        let campaign = if project.has_state() { project.read()?.config() } else { Config::default() };
        let config = resolve(self.config(None), &context.project, campaign)?;
        let base = base_url(&config)?;
        let webdriver = self.webdriver.clone();
        Ok(EnterOptions { base, settings: Settings::from(config.settings), webdriver, credentials: None })
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
                viewport: self.viewport,
                workers,
                strict_oracles: self.oracles.strict(),
                fail_on_5xx: self.oracles.on_5xx(),
                ..Overrides::default()
            },
        }
    }
}

fn is_of_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
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
