//! What can go wrong before the first page is open, and how to get what is missing.

use std::path::PathBuf;
use std::time::Duration;

use crate::exit::{Exit, Explain};

/// Why there is no browser to drive.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// A path that the caller named leads to no program.
    #[error("cannot find {what} at `{path}`, as {by} says", path = .path.display())]
    NotThere {
        /// `the browser` or `chromedriver`.
        what: &'static str,
        /// Where it should have been.
        path: PathBuf,
        /// The option or variable that names the path.
        by: &'static str,
    },
    /// No Chromium or Chrome was found.
    #[error("cannot find Chromium or Chrome on this machine")]
    NoBrowser,
    /// No chromedriver was found.
    #[error("cannot find chromedriver on this machine")]
    NoDriver,
    /// chromedriver drives only the browser of its own major version.
    #[error("chromedriver {driver} cannot drive browser {browser} at `{path}`: their major versions differ", path = .path.display())]
    VersionsDiffer {
        /// Full version of chromedriver.
        driver: String,
        /// Full version of the browser.
        browser: String,
        /// The browser.
        path: PathBuf,
    },
    /// The operating system would not start a program.
    #[error("cannot start `{path}`", path = .path.display())]
    Spawn {
        /// The program.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// chromedriver started but never said its port.
    #[error("chromedriver at `{path}` {how}{said}", path = .path.display(), said = said(.last_lines))]
    NotUp {
        /// The program.
        path: PathBuf,
        /// What happened instead.
        how: String,
        /// Its last lines, oldest first.
        last_lines: Vec<String>,
    },
    /// The directory for profiles cannot be used.
    #[error("cannot keep browser profiles in `{path}`", path = .path.display())]
    RuntimeDir {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The directory for profiles belongs to somebody else.
    #[error("cannot keep browser profiles in `{path}`: it is a link, or belongs to another user", path = .path.display())]
    ForeignRuntimeDir {
        /// The directory.
        path: PathBuf,
    },
    /// The WebDriver that the user named does not answer.
    #[error("the WebDriver at {url} does not answer: {why}")]
    Unreachable {
        /// Its address.
        url: String,
        /// What came instead.
        why: String,
    },
    /// The driver is there, but no browser session could be opened.
    #[error("cannot open a browser session at {url}: {why}")]
    Session {
        /// The driver's address.
        url: String,
        /// First line of what the driver said.
        why: String,
    },
}

impl DriverError {
    pub(super) fn not_up(path: PathBuf, how: impl Into<String>, last_lines: Vec<String>) -> Self {
        Self::NotUp { path, how: how.into(), last_lines }
    }

    pub(super) fn silent(path: PathBuf, waited: Duration, last_lines: Vec<String>) -> Self {
        Self::not_up(path, format!("did not say its port within {} s", waited.as_secs()), last_lines)
    }
}

fn said(lines: &[String]) -> String {
    if lines.is_empty() { "; it said nothing".to_owned() } else { format!("; it said: {}", lines.join(" | ")) }
}

impl Explain for DriverError {
    fn exit(&self) -> Exit {
        match self {
            Self::NotThere { .. } | Self::ForeignRuntimeDir { .. } => Exit::Usage,
            _ => Exit::Engine,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotThere { by, .. } => format!("correct {by}, or leave it out to have the usual places searched"),
            Self::NoBrowser | Self::NoDriver => format!(
                "{}; or name the programs with {} and {}",
                install_hint(),
                crate::env::CHROME,
                crate::env::CHROMEDRIVER
            ),
            Self::VersionsDiffer { .. } => format!(
                "take both from one source ({}), or name a fitting pair with {} and {}",
                install_hint(),
                crate::env::CHROME,
                crate::env::CHROMEDRIVER
            ),
            Self::Spawn { .. } | Self::NotUp { .. } | Self::Session { .. } => {
                "`agent-test doctor` checks the browser, its driver and what they need".to_owned()
            }
            Self::RuntimeDir { .. } => "check that the directory is writable and its disk is not full".to_owned(),
            Self::ForeignRuntimeDir { .. } => "point TMPDIR at a directory of your own".to_owned(),
            Self::Unreachable { .. } => {
                "start it first, or leave --webdriver out to have a driver started for you".to_owned()
            }
        })
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NotThere { .. } => "named_program_missing",
            Self::NoBrowser => "browser_missing",
            Self::NoDriver => "chromedriver_missing",
            Self::VersionsDiffer { .. } => "versions_differ",
            Self::Spawn { .. } => "driver_not_started",
            Self::NotUp { .. } => "driver_not_up",
            Self::RuntimeDir { .. } | Self::ForeignRuntimeDir { .. } => "runtime_dir_unusable",
            Self::Unreachable { .. } => "webdriver_unreachable",
            Self::Session { .. } => "session_not_opened",
        }
    }
}

/// How to get a browser and its driver on this machine.
#[must_use]
pub fn install_hint() -> String {
    let release = if cfg!(target_os = "linux") { fs_err::read_to_string("/etc/os-release").ok() } else { None };
    hint_for(cfg!(target_os = "macos"), release.as_deref()).to_owned()
}

/// The hint for a system: macOS or not, and the text of its `os-release`.
fn hint_for(macos: bool, os_release: Option<&str>) -> &'static str {
    if macos {
        return "install them with `brew install --cask chromium chromedriver`";
    }
    let ids: Vec<&str> = os_release
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
        .flat_map(|value| value.trim_matches('"').split_whitespace())
        .collect();
    let is = |name: &str| ids.contains(&name);
    if is("ubuntu") {
        "install them as root with `apt-get install chromium-browser chromium-chromedriver`"
    } else if is("debian") {
        "install them as root with `apt-get install chromium chromium-driver`"
    } else if is("fedora") || is("rhel") {
        "install them as root with `dnf install chromium chromedriver`"
    } else if is("arch") {
        "install them as root with `pacman -S chromium` (it brings chromedriver)"
    } else if is("alpine") {
        "install them as root with `apk add chromium chromium-chromedriver`"
    } else {
        "install Chromium and the chromedriver of the same version \
         (Debian: chromium chromium-driver; Fedora: chromium chromedriver; macOS: brew casks chromium, chromedriver)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_the_packages_of_the_system() {
        assert!(hint_for(false, Some("ID=debian\nVERSION_ID=\"12\"")).contains("chromium chromium-driver"));
        assert!(hint_for(false, Some("ID=ubuntu\nID_LIKE=debian")).contains("chromium-chromedriver"));
        assert!(hint_for(false, Some("ID=linuxmint\nID_LIKE=\"ubuntu debian\"")).contains("chromium-chromedriver"));
        assert!(hint_for(false, Some("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"")).contains("dnf"));
        assert!(hint_for(true, None).contains("brew"));
        assert!(hint_for(false, None).contains("Fedora"));
    }

    #[test]
    fn what_the_driver_said_last_is_in_the_message() {
        let error = DriverError::not_up("/d".into(), "ended at once", vec!["one".into(), "two".into()]);
        assert_eq!(error.to_string(), "chromedriver at `/d` ended at once; it said: one | two");
    }
}
