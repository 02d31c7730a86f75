//! Sessions are user contexts of one running browser: nothing of one is seen in another, and one that dies takes no other
//! along.

use std::time::{Duration, Instant};

use agent_test::browser::driver::{Driver, DriverOptions};
use agent_test::browser::{Launcher, Policy, Session};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use url::Url;

use crate::explore_kit::Site;
use crate::sandbox::Sandbox;

const PAGES: &[(&str, &str)] = &[("/", "<p>One</p>"), ("/two", "<p>Two</p>")];

/// What a page can leave in a browser.
const KEEP: &str = "(async () => { document.cookie = 'kept=1; path=/; max-age=3600'; localStorage.setItem('kept', '1'); \
     sessionStorage.setItem('kept', '1'); await (await caches.open('kept')).put('/kept', new Response('1')); \
     await new Promise((done, failed) => { const open = indexedDB.open('kept'); open.onsuccess = done; open.onerror = failed; }); \
     return 0; })()";
const KEPT: &str = "(async () => ({ cookie: document.cookie, local: localStorage.length, session: sessionStorage.length, \
     caches: (await caches.keys()).length, databases: (await indexedDB.databases()).length }))()";

/// A browser of our own over the pages.
struct Lab {
    site: Site,
    driver_group: u32,
    launcher: Launcher,
    runtime: tokio::runtime::Runtime,
    sandbox: Sandbox,
}

impl Lab {
    fn start() -> Self {
        let sandbox = Sandbox::new();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let driver = runtime.block_on(Driver::start(&DriverOptions::new(sandbox.file("runtime")))).unwrap();
        let driver_group = driver.process_group();
        Self { site: Site::start(PAGES, ""), driver_group, launcher: Launcher::own(driver), runtime, sandbox }
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}{path}", self.site.url)).unwrap()
    }

    async fn session(&self) -> Session {
        let policy = Policy { base: Some(self.url("/")), ..Policy::default() };
        self.launcher.session(policy).await.unwrap()
    }

    async fn session_at(&self, path: &str) -> Session {
        let session = self.session().await;
        session.goto(&self.url(path), 5000).await.unwrap();
        session
    }

    /// Profiles of browsers that run, or ran and left theirs.
    fn profiles(&self) -> usize {
        let homes = std::fs::read_dir(self.sandbox.file("runtime")).unwrap().flatten();
        homes
            .flat_map(|home| std::fs::read_dir(home.path()).into_iter().flatten().flatten())
            .filter(|entry| entry.path().join("DevToolsActivePort").exists())
            .count()
    }

    /// Processes of the driver and its browsers: id and command line.
    fn processes(&self) -> Vec<(i32, String)> {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
            let (state, _, group) = (fields.next()?, fields.next()?, fields.next()?);
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            (state != "Z" && group == self.driver_group.to_string())
                .then(|| (id, String::from_utf8_lossy(&line).replace('\0', " ")))
        })
        .collect()
    }

    fn browser(&self) -> i32 {
        let is_browser = |line: &str| line.contains("--user-data-dir=") && !line.contains("--type=");
        let found: Vec<_> = self.processes().into_iter().filter(|(_, line)| is_browser(line)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].0
    }

    fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.runtime.block_on(self.launcher.stop());
    }
}

#[test]
fn nothing_that_a_page_keeps_is_seen_in_another_session() {
    let lab = Lab::start();
    lab.run(async {
        let first = lab.session_at("/").await;
        first.evaluate::<Value>(KEEP).await.unwrap();
        first.goto(&lab.url("/two"), 5000).await.unwrap();
        let kept: Value = first.evaluate(KEPT).await.unwrap();
        assert_eq!(kept, json!({ "cookie": "kept=1", "local": 1, "session": 1, "caches": 1, "databases": 1 }));
        let empty = json!({ "cookie": "", "local": 0, "session": 0, "caches": 0, "databases": 0 });
        let beside = lab.session_at("/two").await;
        assert_eq!(beside.evaluate::<Value>(KEPT).await.unwrap(), empty);
        first.close().await;
        let after = lab.session_at("/two").await;
        assert_eq!(after.evaluate::<Value>(KEPT).await.unwrap(), empty);
    });
}

#[test]
fn a_page_that_hangs_holds_up_no_other_session() {
    let lab = Lab::start();
    lab.run(async {
        let (hung, other) = (lab.session_at("/").await, lab.session_at("/two").await);
        // Not awaited: it never answers.
        let forever = hung.evaluate::<Value>("for (;;);");
        let work = other.evaluate::<String>("document.title");
        tokio::select! {
            _ = forever => panic!("an endless loop ended"),
            title = work => assert_eq!(title.unwrap(), "Page /two"),
        }
        hung.close().await;
        assert_eq!(other.evaluate::<String>("document.title").await.unwrap(), "Page /two");
        assert_eq!(lab.session_at("/").await.evaluate::<String>("document.title").await.unwrap(), "Page /");
    });
}

#[test]
fn a_browser_that_was_killed_is_replaced_at_the_next_session() {
    let lab = Lab::start();
    lab.run(async {
        let lost = lab.session_at("/").await;
        rustix::process::kill_process(Pid::from_raw(lab.browser()).unwrap(), Signal::KILL).unwrap();
        assert!(lost.evaluate::<Value>("1").await.is_err());
        let next = lab.session_at("/two").await;
        assert_eq!(next.evaluate::<String>("document.title").await.unwrap(), "Page /two");
        drop(lost);
        let deadline = Instant::now() + Duration::from_secs(15);
        while lab.profiles() > 1 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(lab.profiles(), 1, "the profile of the killed browser is gone");
    });
}

#[test]
fn a_hundred_sessions_leave_neither_a_window_nor_a_profile() {
    let lab = Lab::start();
    lab.run(async {
        let alone = lab.session_at("/").await;
        let before = lab.processes().len();
        for _ in 0..25 {
            let round = ["/", "/two", "/", "/two"].map(|path| Box::pin(lab.session_at(path)));
            let sessions = futures_util::future::join_all(round).await;
            // Half of them are closed, the others dropped as a cancelled worker does.
            for (number, session) in sessions.into_iter().enumerate() {
                if number % 2 == 0 {
                    session.close().await;
                }
            }
        }
        let deadline = Instant::now() + Duration::from_secs(15);
        // Chromium keeps a spare renderer at hand.
        while lab.processes().len() > before + 2 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let left = lab.processes();
        assert!(left.len() <= before + 2, "{before} processes before, now {left:#?}");
        assert_eq!(lab.profiles(), 1);
        alone.close().await;
    });
}
