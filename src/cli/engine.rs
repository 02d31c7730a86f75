//! Options of every command that works in a browser.

use url::Url;

/// Options of every command that works in a browser.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct EngineArgs {
    /// Address of the application
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
