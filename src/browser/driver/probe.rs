//! A first look: does a WebDriver answer, and does a browser really open?

use std::path::Path;
use std::time::{Duration, Instant};

use thirtyfour::{ChromiumLikeCapabilities, DesiredCapabilities, WebDriver};
use url::Url;

use super::error::DriverError;
use super::launch::Driver;

/// A session that was opened and closed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What the session says the browser is, for instance `chrome 156.0.8078.114`.
    pub browser: String,
    /// From the request to an answer from a blank page, in milliseconds.
    pub took_ms: u64,
}

/// Whether this user is root: Chromium's sandbox refuses to run then, and sessions need `--no-sandbox`.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Opens a headless session on a driver of ours, asks a blank page for an answer, and closes the session.
///
/// # Errors
/// When the session cannot be opened, or does not answer.
pub async fn probe_session(driver: &Driver) -> Result<Probe, DriverError> {
    let profile = driver.profile_dir();
    let probed = probe(driver.url(), Some((driver.chrome_path(), &profile))).await;
    driver.forget_profile(&profile);
    probed
}

/// Opens a bare headless session, with a browser and profile of ours or as the WebDriver at the address pleases.
///
/// It serves the checks of this room; exploring opens its own sessions, with everything it records switched on.
///
/// # Errors
/// When the driver would not open it.
pub async fn open_session(url: &Url, ours: Option<(&Path, &Path)>) -> Result<WebDriver, DriverError> {
    crate::browser::install_tls();
    let failed = |error: thirtyfour::error::WebDriverError| DriverError::Session {
        url: url.to_string(),
        why: reason(&error.to_string()),
    };
    let mut caps = DesiredCapabilities::chrome();
    caps.add_arg("--headless=new").map_err(failed)?;
    caps.add_arg("--no-first-run").map_err(failed)?;
    if let Some((chrome, profile)) = ours {
        caps.set_binary(&chrome.to_string_lossy()).map_err(failed)?;
        caps.add_arg(&format!("--user-data-dir={}", profile.display())).map_err(failed)?;
        if is_root() {
            caps.add_arg("--no-sandbox").map_err(failed)?;
        }
        if !Path::new("/dev/shm").is_dir() {
            caps.add_arg("--disable-dev-shm-usage").map_err(failed)?;
        }
    }
    WebDriver::new(url.as_str(), caps).await.map_err(failed)
}

async fn probe(url: &Url, ours: Option<(&Path, &Path)>) -> Result<Probe, DriverError> {
    let start = Instant::now();
    let session = open_session(url, ours).await?;
    let answered = session.execute("return navigator.userAgent", Vec::new()).await;
    let took_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let capabilities = session.handle().capabilities().clone();
    let closed = session.quit().await;
    answered
        .map(|_| ())
        .and(closed)
        .map_err(|error| DriverError::Session { url: url.to_string(), why: reason(&error.to_string()) })?;
    let told = |key: &str| capabilities.get(key).and_then(|value| value.as_str()).unwrap_or("?").to_owned();
    Ok(Probe { browser: format!("{} {}", told("browserName"), told("browserVersion")), took_ms })
}

/// Checks that a WebDriver answers at this address (`--webdriver URL`).
///
/// # Errors
/// When nothing answers there within five seconds, or what answers is no WebDriver.
pub async fn reach_webdriver(url: &Url) -> Result<(), DriverError> {
    crate::browser::install_tls();
    let failed = |why: String| DriverError::Unreachable { url: url.to_string(), why };
    let status = format!("{}/status", url.as_str().trim_end_matches('/'));
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(5))
        .build()
        .map_err(|error| failed(error.to_string()))?;
    let answer = client.get(status).send().await.map_err(|error| {
        failed(if error.is_timeout() {
            "no answer within 5 s".to_owned()
        } else if error.is_connect() {
            "nothing listens there".to_owned()
        } else {
            error.to_string()
        })
    })?;
    let body: serde_json::Value =
        answer.json().await.map_err(|_| failed("what answers there is no WebDriver".to_owned()))?;
    if body.pointer("/value/ready").is_some() {
        Ok(())
    } else {
        Err(failed("what answers there is no WebDriver".to_owned()))
    }
}

/// A driver's error holds its stack trace; a reader needs what stands before it, in one line of bearable length.
fn reason(text: &str) -> String {
    let said: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take_while(|line| !line.starts_with('#') && !line.contains("Stacktrace"))
        .take(4)
        .collect();
    if said.is_empty() { "no reason given".to_owned() } else { said.join(" ").chars().take(400).collect() }
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_reason_is_one_line_without_the_stack() {
        let text =
            "Unable to create WebDriver session:\n  session not created\n  from disconnected\n#0 0x55d1 <unknown>\n";
        assert_eq!(reason(text), "Unable to create WebDriver session: session not created from disconnected");
        assert_eq!(reason("\n"), "no reason given");
    }
}
