//! The workshop: everything that one execution shares (driver, settings, run log), and one subagent per route in it,
//! born, one job, gone.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::run_log::RunLog;
use crate::browser::driver::reach_webdriver;
use crate::browser::install_tls;
use crate::event::Events;
use crate::exit::{Exit, Explain};
use crate::explore::{ExploreError, Plan, Shared, Unfinished, explore, forget};
use crate::maze::RouteReport;
use crate::replay::{Credentials, EnterError, EnterOptions, Stage};
use crate::route::{Route, Slug};
use crate::settings::Settings;
use crate::state::Project;
use crate::store::{self, Clock, StoreError};
use crate::trace::RunSettings;

/// Why a workshop could not be opened, or its work not kept.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    /// No browser, or no way in.
    #[error(transparent)]
    Enter(#[from] EnterError),
    /// The disk.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The exploration.
    #[error(transparent)]
    Explore(#[from] ExploreError),
    /// The application does not answer.
    #[error("the application at `{url}` cannot be reached: {reason}")]
    Unreachable {
        /// Address.
        url: String,
        /// Why.
        reason: String,
    },
}

impl Explain for DispatchError {
    fn exit(&self) -> Exit {
        match self {
            Self::Enter(error) => error.exit(),
            Self::Store(error) => error.exit(),
            Self::Explore(error) => error.exit(),
            Self::Unreachable { .. } => Exit::Engine,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Enter(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Explore(error) => error.hint(),
            Self::Unreachable { .. } => Some("start the application, or correct the base URL".to_owned()),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Enter(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Explore(error) => error.code(),
            Self::Unreachable { .. } => "unreachable",
        }
    }
}

/// What a workshop is opened with.
#[derive(Clone, Debug)]
pub struct WorkshopOptions {
    /// Address of the application.
    pub base: Url,
    /// Settings that hold.
    pub settings: Settings,
    /// A running WebDriver in place of a driver of our own.
    pub webdriver: Option<Url>,
    /// Every route of the campaign.
    pub known: Vec<Route>,
    /// Whether each new bug is played once more.
    pub confirm: bool,
    /// Who logs in, in place of what the environment says.
    pub credentials: Option<Credentials>,
    /// The campaign in which a route that was cut off goes on from its last finished branch; outside of one it begins anew.
    pub campaign: Option<String>,
}

/// Everything that one execution shares.
pub struct Workshop {
    project: Project,
    confirm: bool,
    campaign: Option<String>,
    known: Arc<Vec<Route>>,
    stage: Stage,
    webdriver: Url,
    client: reqwest::Client,
    log: RunLog,
    shared: Shared,
    events: Events,
    clock: Clock,
}

const NAVIGATION: &str = ".agent-test/navigation.json";
/// One file for each route that is being explored, or was cut off, and its screenshots.
const UNFINISHED: &str = ".agent-test/unfinished";

impl Workshop {
    /// Checks that the application answers, starts the driver, and begins the run.
    ///
    /// # Errors
    /// [`DispatchError`].
    pub async fn open(
        project: Project,
        options: WorkshopOptions,
        clock: Clock,
        events: Events,
    ) -> Result<Self, DispatchError> {
        install_tls();
        let way = EnterOptions {
            base: options.base.clone(),
            settings: options.settings.clone(),
            webdriver: options.webdriver.clone(),
            credentials: options.credentials.clone(),
        }
        .prepare(project.root())?;
        let client = client(&options.base)?;
        reach(&client, &options.base).await?;
        for folder in [crate::state::REPORTS_DIR, crate::state::SCREENSHOTS_DIR] {
            store::create_dir(&project.root().join(folder))?;
        }
        let settings = RunSettings {
            strict_oracles: options.settings.strict_oracles,
            fail_on_5xx: options.settings.fail_on_5xx,
            safe_to_mutate: options.settings.safe_to_mutate,
            viewport: Some(options.settings.viewport),
            storage_state: options.settings.storage_state.clone(),
        };
        let log = RunLog::begin(project.root(), options.base.as_str(), settings, clock.now())?;
        super::run_log::sweep_litter(project.root(), Duration::from_hours(1));
        let (stage, webdriver) = way.enter().await?;
        let known = Arc::new(options.known.clone());
        let shared = Shared::with(explored_navigation(&project));
        let (confirm, campaign) = (options.confirm, options.campaign);
        Ok(Self { project, confirm, campaign, known, stage, webdriver, client, log, shared, events, clock })
    }

    /// The project.
    #[must_use]
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Path of the run file, relative to the project.
    #[must_use]
    pub fn run_file(&self) -> String {
        self.log.file()
    }

    /// Whether the driver answers.
    pub async fn has_driver(&self) -> bool {
        reach_webdriver(&self.webdriver).await.is_ok()
    }

    /// Whether the application answers.
    ///
    /// # Errors
    /// [`DispatchError::Unreachable`].
    pub async fn reach(&self) -> Result<(), DispatchError> {
        reach(&self.client, &self.stage.base).await
    }

    /// Explores a route and writes its report; gives back the report with its path.
    ///
    /// # Errors
    /// [`DispatchError`]: the route is to be tried again.
    pub async fn explore(
        &self,
        worker: usize,
        route: &Route,
        slug: &Slug,
    ) -> Result<(RouteReport, PathBuf), DispatchError> {
        let plan = Plan {
            route: route.clone(),
            slug: slug.clone(),
            stage: self.stage.clone(),
            shots: self.new_shots(slug),
            shot_prefix: format!("{}/{slug}/", crate::state::SCREENSHOTS_DIR),
            known: self.known.clone(),
            run_file: self.log.file(),
            events: self.events.for_worker(worker),
            clock: self.clock.clone(),
            shared: self.shared.clone(),
            confirm: self.confirm,
            unfinished: self
                .campaign
                .as_ref()
                .map(|campaign| Unfinished { path: self.unfinished(slug), campaign: campaign.clone() }),
        };
        let explored = match Box::pin(explore(&plan)).await {
            Ok(explored) => explored,
            Err(error) => {
                self.discard(route, slug);
                return Err(error.into());
            }
        };
        // An application that went down on the way makes every click look like a bug: such a report is worth nothing.
        if let Err(error) = self.reach().await {
            self.discard(route, slug);
            return Err(error);
        }
        self.log.add(&explored.flow, &explored.report.bugs)?;
        store::replace_evidence(&self.new_shots(slug), &self.project.screenshots_of(slug), "png")?;
        let path = self.project.report_path(slug);
        let text = serde_json::to_vec_pretty(&explored.report).unwrap_or_default();
        store::write_atomic(&path, &text)?;
        self.keep_navigation(route)?;
        Ok((explored.report, path))
    }

    /// Where the finished branches of a route are written down.
    fn unfinished(&self, slug: &Slug) -> PathBuf {
        self.project.root().join(UNFINISHED).join(format!("{slug}.json"))
    }

    /// Where the screenshots of an exploration lie until its report is written: those of an earlier report stay beside it
    /// until then, however this one ends.
    fn new_shots(&self, slug: &Slug) -> PathBuf {
        match &self.campaign {
            Some(_) => self.project.root().join(UNFINISHED).join(format!("{slug}.shots")),
            None => self.log.parts().join("shots").join(slug.to_string()),
        }
    }

    /// A worker was cut off: what it had taken is free again. What it had finished stays for the next one, and no
    /// screenshot stays that nothing names.
    pub fn abandon(&self, route: &Route, slug: &Slug) {
        if self.campaign.is_some() && store::exists(&self.unfinished(slug)) == store::FileKind::File {
            self.shared.give_back(route.as_str());
        } else {
            self.discard(route, slug);
        }
    }

    /// What a worker found is worth nothing: the next one begins anew.
    pub fn discard(&self, route: &Route, slug: &Slug) {
        self.shared.give_back(route.as_str());
        if self.campaign.is_some() {
            forget(&self.unfinished(slug));
        }
        let shots = self.new_shots(slug);
        if store::exists(&shots) == store::FileKind::Directory
            && let Err(error) = store::remove_tree(&shots)
        {
            tracing::warn!("cannot remove the screenshots of {route}: {error}");
        }
    }

    /// Joins the run's parts and ends the driver.
    ///
    /// # Errors
    /// When the run file cannot be written.
    pub async fn close(self) -> Result<String, DispatchError> {
        self.stage.launcher.stop().await;
        self.log.finish(self.clock.now())?;
        Ok(self.log.file())
    }

    /// Remembers what of the shared header and navigation this route explored, for later sessions of the campaign.
    fn keep_navigation(&self, route: &Route) -> Result<(), StoreError> {
        let path = self.project.root().join(NAVIGATION);
        let _lock =
            store::FileLock::acquire(&self.project.root().join(".agent-test/navigation.lock"), store::lock_timeout())?;
        let mut all = known_navigation(self.project.root());
        for (key, owner) in self.shared.all() {
            if owner == route.as_str() {
                all.retain(|(known, _)| *known != key);
                all.push((key, owner));
            }
        }
        all.sort();
        store::write_atomic(&path, &serde_json::to_vec_pretty(&all).unwrap_or_default())
    }
}

/// What earlier sessions of this campaign explored of the shared header and navigation: a route that is no longer
/// completed vouches for nothing.
fn explored_navigation(project: &Project) -> Vec<(String, String)> {
    let Ok(state) = project.read() else { return Vec::new() };
    let done: std::collections::HashSet<&str> = state.completed().iter().map(|entry| entry.route.as_str()).collect();
    known_navigation(project.root()).into_iter().filter(|(_, owner)| done.contains(owner.as_str())).collect()
}

fn known_navigation(root: &Path) -> Vec<(String, String)> {
    let text = store::read_to_string_if_exists(&root.join(NAVIGATION)).ok().flatten().unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn unreachable(base: &Url, reason: impl std::fmt::Display) -> DispatchError {
    DispatchError::Unreachable { url: base.to_string(), reason: reason.to_string() }
}

fn client(base: &Url) -> Result<reqwest::Client, DispatchError> {
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .danger_accept_invalid_certs(true)
        .pool_max_idle_per_host(0)
        .timeout(Duration::from_secs(15))
        .build()
        .map_err(|error| unreachable(base, error))
}

/// Whether anything answers at the base URL. Any HTTP answer will do; one lost connection is no proof.
async fn reach(client: &reqwest::Client, base: &Url) -> Result<(), DispatchError> {
    let mut tried = client.get(base.clone()).send().await;
    if tried.is_err() {
        tried = client.get(base.clone()).send().await;
    }
    tried.map(|_| ()).map_err(|error| {
        let mut cause: &dyn std::error::Error = &error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        unreachable(base, cause)
    })
}
