//! Finds the browser and its driver, and tells whether they fit.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::error::DriverError;

/// Where browsers lie. Real binaries come before the wrapper scripts on the `PATH`: Debian's wrapper adds switches of
/// its own and prints errors.
const BROWSERS: &[&str] = &[
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
];
const BROWSER_NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const DRIVERS: &[&str] = &[
    "/usr/bin/chromedriver",
    "/usr/lib/chromium/chromedriver",
    "/usr/lib64/chromium-browser/chromedriver",
    "/usr/lib/chromium-browser/chromedriver",
    "/opt/homebrew/bin/chromedriver",
    "/usr/local/bin/chromedriver",
];
const DRIVER_NAMES: &[&str] = &["chromedriver", "chromium.chromedriver"];

/// A browser and a driver that fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    /// The browser.
    pub chrome: PathBuf,
    /// Its driver.
    pub chromedriver: PathBuf,
}

impl Binaries {
    /// Finds both.
    ///
    /// # Errors
    /// When either is missing.
    pub fn find(chrome: Option<&Path>, chromedriver: Option<&Path>) -> Result<Self, DriverError> {
        Ok(Self { chrome: find_browser(chrome)?, chromedriver: find_chromedriver(chromedriver)? })
    }

    /// Checks that the major versions are the same. A program that does not tell its version is given the benefit of
    /// the doubt: opening a session will tell.
    ///
    /// # Errors
    /// When both versions are known and differ.
    pub async fn check_versions(&self) -> Result<(), DriverError> {
        let (browser, driver) = tokio::join!(version_of(&self.chrome), version_of(&self.chromedriver));
        match (browser, driver) {
            (Some(browser), Some(driver)) if browser.major != driver.major => Err(DriverError::VersionsDiffer {
                driver: driver.full,
                browser: browser.full,
                path: self.chrome.clone(),
            }),
            _ => Ok(()),
        }
    }
}

/// The browser: the path given, else the environment's, else the usual places.
///
/// # Errors
/// When the path that was named leads nowhere, or no browser is found.
pub fn find_browser(named: Option<&Path>) -> Result<PathBuf, DriverError> {
    find("the browser", named, crate::env::CHROME, BROWSERS, BROWSER_NAMES)?.ok_or(DriverError::NoBrowser)
}

/// chromedriver: the path given, else the environment's, else the usual places.
///
/// # Errors
/// When the path that was named leads nowhere, or no chromedriver is found.
pub fn find_chromedriver(named: Option<&Path>) -> Result<PathBuf, DriverError> {
    find("chromedriver", named, crate::env::CHROMEDRIVER, DRIVERS, DRIVER_NAMES)?.ok_or(DriverError::NoDriver)
}

fn find(
    what: &'static str,
    named: Option<&Path>,
    variable: &'static str,
    places: &[&str],
    names: &[&str],
) -> Result<Option<PathBuf>, DriverError> {
    let from_env = crate::env::get(variable).map(PathBuf::from);
    let named = named.map(|path| (path.to_owned(), "the option")).or_else(|| from_env.map(|path| (path, variable)));
    if let Some((path, by)) = named {
        return if is_program(&path) { Ok(Some(path)) } else { Err(DriverError::NotThere { what, path, by }) };
    }
    Ok(first_program(places, names, std::env::var_os("PATH").as_deref()))
}

/// The first program among some places, then among some names on a search path.
fn first_program(places: &[&str], names: &[&str], search: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    let on_path = search.map(|search| std::env::split_paths(search).collect::<Vec<_>>()).unwrap_or_default();
    places
        .iter()
        .map(PathBuf::from)
        .chain(names.iter().flat_map(|name| on_path.iter().map(move |dir| dir.join(name))))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// A program's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// As printed, for instance `156.0.8078.114`.
    pub full: String,
    /// The first number.
    pub major: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full)
    }
}

impl Version {
    /// The first dotted number in a line such as `Chromium 156.0.8078.114 built on Debian`. What another program prints
    /// (`false (GNU coreutils) 9.1`) is no version of a browser.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find(|line| line.to_lowercase().contains("chrom"))?;
        line.split_whitespace().find_map(|word| {
            let (major, rest) = word.split_once('.')?;
            let dotted = !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit() || c == '.');
            dotted.then(|| major.parse().ok())?.map(|major| Self { full: word.to_owned(), major })
        })
    }
}

/// What a program answers to `--version`; nothing when it does not within ten seconds.
pub async fn version_of(program: &Path) -> Option<Version> {
    let asked = tokio::process::Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(10), asked).await.ok()?.ok()?;
    Version::parse(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &Path) {
        use std::os::unix::fs::OpenOptionsExt;
        std::fs::File::options().write(true).create(true).truncate(true).mode(0o755).open(path).unwrap();
    }

    #[test]
    fn versions_are_read_from_what_browsers_and_drivers_print() {
        let of = |text| Version::parse(text).map(|version| (version.full, version.major));
        assert_eq!(of("Chromium 156.0.8078.114 built on Debian GNU/Linux 12"), Some(("156.0.8078.114".into(), 156)));
        assert_eq!(of("ChromeDriver 155.0.1 (ea19f97-refs/branch-heads/1@{#5})"), Some(("155.0.1".into(), 155)));
        assert_eq!(of("Google Chrome 99.1.2.3 \n"), Some(("99.1.2.3".into(), 99)));
        assert_eq!(of("Chromium: no version. here"), None);
        assert_eq!(of("note 1.2\nChromium 156.0.1"), Some(("156.0.1".into(), 156)));
        assert_eq!(of("false (GNU coreutils) 9.1\nCopyright"), None, "the version of another program");
    }

    #[test]
    fn a_known_place_comes_before_the_search_path() {
        let dir = tempfile::tempdir().unwrap();
        let (place, on_path) = (dir.path().join("real"), dir.path().join("chromium"));
        program(&on_path);
        let search = Some(dir.path().as_os_str());
        let find = || first_program(&[place.to_str().unwrap()], &["chromium"], search);
        assert_eq!(find(), Some(on_path.clone()));
        program(&place);
        assert_eq!(find(), Some(place.clone()));
    }

    #[test]
    fn a_file_that_cannot_be_run_is_no_program() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("chromium"), "").unwrap();
        assert_eq!(first_program(&[], &["chromium"], Some(dir.path().as_os_str())), None);
    }

    #[test]
    fn a_named_path_that_leads_nowhere_is_an_error_and_no_reason_to_search() {
        let error = find_browser(Some(Path::new("/no/such/browser"))).unwrap_err();
        assert_eq!(error.to_string(), "cannot find the browser at `/no/such/browser`, as the option says");
    }
}
