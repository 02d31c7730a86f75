//! The demo application: what its server answers, what its switches change, that its list is true.

#![allow(clippy::expect_used, reason = "helpers of tests may panic as tests do")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use agent_test::demo::{Ledger, Manifest, Options, PASSWORD, Server, USERNAME, manifest};
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A server with a visitor who is signed in.
struct Visit {
    server: Server,
    client: reqwest::Client,
    cookie: String,
}

fn client() -> reqwest::Client {
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("a client")
}

async fn log_in(client: &reqwest::Client, url: &url::Url, password: &str, next: &str) -> reqwest::Response {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("username", USERNAME)
        .append_pair("password", password)
        .append_pair("next", next)
        .finish();
    client
        .post(url.join("login").expect("an address"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
        .send()
        .await
        .expect("an answer")
}

impl Visit {
    async fn start(options: Options) -> Self {
        let server = Server::start(options).await.expect("a server");
        let client = client();
        let answer = log_in(&client, &server.url, PASSWORD, "/orders").await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        assert_eq!(answer.headers()[LOCATION], "/orders");
        let cookie = answer.headers()[SET_COOKIE].to_str().expect("text").split(';').next().unwrap_or("").to_owned();
        Self { server, client, cookie }
    }

    async fn plain() -> Self {
        Self::start(Options::default()).await
    }

    async fn send(&self, method: Method, path: &str) -> (StatusCode, String) {
        let address = self.server.url.join(path).expect("an address");
        let request = self.client.request(method, address).header(COOKIE, &self.cookie);
        let answer = request.header("content-type", "application/json").body("{}").send().await.expect("an answer");
        let status = answer.status();
        (status, answer.text().await.expect("text"))
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        self.send(Method::GET, path).await
    }
}

fn fixed(ids: &[&str]) -> Options {
    Options { fixed: ids.iter().map(|id| (*id).to_owned()).collect(), ..Options::default() }
}

fn renamed(ids: &[&str]) -> Options {
    Options { renamed: ids.iter().map(|id| (*id).to_owned()).collect(), ..Options::default() }
}

#[tokio::test]
async fn without_a_session_pages_lead_to_the_login_and_calls_are_refused() {
    let server = Server::start(Options::default()).await.expect("a server");
    let client = client();
    let page = client.get(server.url.join("/orders").expect("an address")).send().await.expect("an answer");
    assert_eq!(page.status(), StatusCode::SEE_OTHER);
    assert_eq!(page.headers()[LOCATION], "/login?next=%2Forders");
    let call = client.get(server.url.join("/api/products").expect("an address")).send().await.expect("an answer");
    assert_eq!(call.status(), StatusCode::UNAUTHORIZED);
    let icon = client.get(server.url.join("/favicon.svg").expect("an address")).send().await.expect("an answer");
    assert_eq!(icon.status(), StatusCode::OK);
    server.shutdown().await;
}

#[tokio::test]
async fn a_wrong_password_and_a_foreign_next_do_not_get_through() {
    let server = Server::start(Options::default()).await.expect("a server");
    let client = client();
    assert_eq!(log_in(&client, &server.url, "wrong", "/").await.status(), StatusCode::UNAUTHORIZED);
    let answer = log_in(&client, &server.url, PASSWORD, "//elsewhere.example").await;
    assert_eq!(answer.headers()[LOCATION], "/");
    assert_eq!(server.ledger().logins, 1);
}

#[tokio::test]
async fn logging_out_ends_the_session() {
    let visit = Visit::plain().await;
    assert_eq!(visit.get("/orders").await.0, StatusCode::OK);
    visit.get("/logout").await;
    assert_eq!(visit.get("/orders").await.0, StatusCode::SEE_OTHER);
    assert_eq!(visit.server.ledger().logouts, 1);
}

#[tokio::test]
async fn the_ledger_counts_changes_and_true_deletions_but_no_login() {
    let visit = Visit::plain().await;
    let address = visit.server.url.join("/api/demo/ledger").expect("an address");
    let at_first: Ledger = client().get(address).send().await.expect("an answer").json().await.expect("a ledger");
    assert_eq!((at_first.deleted, at_first.mutations.len(), at_first.logins), (0, 0, 1));
    visit.send(Method::DELETE, "/api/products/1").await;
    visit.send(Method::DELETE, "/api/products/1").await;
    visit.send(Method::POST, "/api/settings").await;
    visit.send(Method::POST, "/api/products/2/duplicate").await;
    let ledger = visit.server.ledger();
    assert_eq!((ledger.deleted, ledger.mutations.len(), ledger.products), (1, 4, at_first.products));
    assert_eq!((ledger.mutations[0].method.as_str(), ledger.mutations[0].path.as_str()), ("DELETE", "/api/products/1"));
    visit.send(Method::DELETE, "/api/workspace").await;
    assert_eq!(visit.server.ledger().products, 0);
}

/// Every address of the demo that a switch may change, with the route whose bugs it belongs to.
const PROBES: &[(&str, &[&str])] = &[
    ("/", &["/", "/status"]),
    ("/products", &["/products", "/api/products/export.csv"]),
    ("/products/1", &["/products/1", "/photos/1.svg", "/api/products/1/suppliers"]),
    ("/orders", &["/orders", "/api/orders/refresh"]),
    ("/customers", &["/customers", "/api/avatars/1"]),
    ("/wizard", &["/wizard", "/api/postcode/1"]),
    ("/settings/general", &["/settings/general", "/api/settings/check"]),
    (
        "/settings/billing",
        &["/settings/billing", "/settings/billing/invoice", "/settings/billing/methods", "/api/billing/usage"],
    ),
    ("/reports", &["/reports", "/reports/frame", "/api/reports/drill"]),
    ("/insights", &["/insights"]),
    ("/widgets", &["/widgets", "/assets/widgets-extra.js"]),
    ("/app#/archive", &["/app", "/api/archive"]),
    ("/help", &["/help", "/help/guide", "/help/release-notes"]),
    ("/activity", &["/activity", "/api/stats"]),
    ("/exports", &["/exports"]),
];

async fn probe(visit: &Visit) -> BTreeMap<&'static str, (StatusCode, String)> {
    let mut answers = BTreeMap::new();
    for path in PROBES.iter().flat_map(|(_, paths)| *paths) {
        answers.insert(*path, visit.get(path).await);
    }
    answers
}

#[tokio::test]
async fn each_switch_changes_its_own_route_and_no_other() {
    let before = probe(&Visit::plain().await).await;
    for bug in manifest().bugs {
        let after = probe(&Visit::start(fixed(&[&bug.id])).await).await;
        let changed: Vec<&str> =
            before.iter().filter(|(path, answer)| after[*path] != **answer).map(|(path, _)| *path).collect();
        let own = PROBES.iter().find(|(route, _)| *route == bug.route).map_or(&[][..], |(_, paths)| *paths);
        assert!(!changed.is_empty(), "{} changes nothing", bug.id);
        assert!(changed.iter().all(|path| own.contains(path)), "{} changes {changed:?}", bug.id);
    }
}

#[tokio::test]
async fn planted_answers_are_wrong_and_fixed_ones_right() {
    let live = Visit::plain().await;
    let fixed = Visit::start(fixed(&["all"])).await;
    for (path, wrong) in [
        ("/status", 500),
        ("/photos/1.svg", 404),
        ("/api/products/1/suppliers", 500),
        ("/api/orders/refresh", 500),
        ("/settings/billing/methods", 303),
        ("/api/reports/drill", 500),
        ("/assets/widgets-extra.js", 404),
        ("/help/release-notes", 404),
    ] {
        assert_eq!(live.get(path).await.0.as_u16(), wrong, "{path}");
        assert_eq!(fixed.get(path).await.0.as_u16(), 200, "{path}");
    }
    assert_eq!(live.get("/api/settings/check").await, (StatusCode::OK, "{\"ok\":false}".to_owned()));
    assert!(live.get("/settings/billing/invoice").await.1.contains("something went wrong"));
    assert!(!fixed.get("/settings/billing/invoice").await.1.contains("something went wrong"));
    assert!(!live.get("/insights").await.1.contains("<h1>"));
    assert!(fixed.get("/insights").await.1.contains("<h1>Insights</h1>"));
}

#[tokio::test]
async fn a_renamed_control_has_its_new_label_and_loses_its_test_id_only_where_listed() {
    for control in manifest().controls {
        let path = if control.route == "*" { "/" } else { &control.route };
        let before = Visit::plain().await.get(path).await.1;
        let after = Visit::start(renamed(&[&control.id])).await.get(path).await.1;
        let label = |text: &str| format!(">{text}</");
        assert!(before.contains(&label(&control.old)) && !before.contains(&label(&control.new)), "{}", control.id);
        assert!(after.contains(&label(&control.new)) && !after.contains(&label(&control.old)), "{}", control.id);
        if let Some(test_id) = &control.test_id {
            let attribute = format!("data-testid=\"{test_id}\"");
            assert!(before.contains(&attribute), "{}", control.id);
            assert_eq!(after.contains(&attribute), control.test_id_kept, "{}", control.id);
        }
    }
}

/// The document of a route, its frame and its scripts, as one text.
async fn everything(visit: &Visit, route: &str) -> String {
    let path = route.split('#').next().unwrap_or("/");
    let mut text = visit.get(path).await.1;
    if text.contains("<iframe") {
        text.push_str(&visit.get("/reports/frame").await.1);
    }
    for script in ["app.js", "pages.js", "products.js", "orders.js", "mailbox.js", "widgets.js"] {
        if text.contains(&format!("/assets/{script}\"")) {
            text.push_str(&visit.get(&format!("/assets/{script}")).await.1);
        }
    }
    text
}

#[tokio::test]
async fn every_listed_label_is_served_on_its_route() {
    for options in [Options::default(), renamed(&["all"])] {
        let visit = Visit::start(options).await;
        let manifest: Manifest = serde_json::from_str(&visit.get("/api/demo/manifest").await.1).expect("a manifest");
        let mut pages = BTreeMap::new();
        for route in manifest.routes.iter().map(|entry| entry.route.as_str()) {
            pages.insert(route.to_owned(), everything(&visit, route).await);
        }
        pages.insert("*".to_owned(), pages["/"].clone());
        for element in manifest.elements.iter().chain(&manifest.shared) {
            let page = &pages[&element.route];
            // Labels that a script puts together from a word and a name.
            let composed = ["Page ", "Select ", "Star "].iter().any(|word| {
                element
                    .label
                    .strip_prefix(word)
                    .is_some_and(|name| page.contains(&format!("{word}${{")) && page.contains(name))
            });
            assert!(composed || page.contains(&element.label), "{} is not on {}", element.label, element.route);
        }
    }
}

#[tokio::test]
async fn no_page_names_another_host() {
    let visit = Visit::plain().await;
    for entry in manifest().routes {
        let text =
            everything(&visit, &entry.route).await.replace("http://127.0.0.1:9/", "").replace("http://www.w3.org/", "");
        assert!(!text.contains("http://") && !text.contains("https://"), "{}", entry.route);
    }
}

#[tokio::test]
async fn two_servers_know_nothing_of_each_other_and_a_taken_port_is_refused() {
    let (one, two) = (Visit::plain().await, Visit::plain().await);
    one.send(Method::DELETE, "/api/products/1").await;
    assert_eq!((one.server.ledger().deleted, two.server.ledger().deleted), (1, 0));
    let port = one.server.url.port().expect("a port");
    let error = Server::start(Options { port, ..Options::default() }).await.expect_err("taken");
    assert!(error.to_string().contains(&port.to_string()));
}

#[tokio::test]
async fn open_streams_do_not_hold_the_server_back() {
    let visit = Visit::plain().await;
    let address = visit.server.url.join("/api/activity/stream").expect("an address");
    let stream = visit.client.get(address).header(COOKIE, &visit.cookie).send().await.expect("an answer");
    let begun = std::time::Instant::now();
    visit.server.shutdown().await;
    let _ = stream.text().await;
    assert!(begun.elapsed() < std::time::Duration::from_millis(1_500));
}

#[test]
fn serving_prints_the_address_first_and_ends_well_on_a_signal() {
    let sandbox = Sandbox::new();
    for (json, signal) in [(false, "-TERM"), (true, "-INT")] {
        let mut arguments = vec!["demo", "--serve"];
        arguments.extend(json.then_some("--json"));
        let mut child =
            sandbox.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a child");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut text = String::new();
        let url = loop {
            out.read_line(&mut text).expect("a line");
            if !json {
                break text.trim().to_owned();
            }
            if let Ok(document) = serde_json::from_str::<Value>(&text) {
                break document["url"].as_str().expect("an address").to_owned();
            }
        };
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
        assert_eq!(child.wait().expect("an end").code(), Some(0));
    }
}

#[test]
fn the_command_refuses_unknown_ids_and_prints_its_manifest() {
    let sandbox = Sandbox::new();
    let refused = sandbox.run(&["demo", "--serve", "--fixed", "nope"]).exits(2);
    assert!(refused.stderr.contains("`nope`") && refused.stderr.contains("insights-blank"), "{}", refused.stderr);
    let printed = sandbox.run(&["demo", "--manifest", "--fixed", "all"]).exits(0).json();
    assert_eq!(printed["bugs"], json!([]));
    assert_eq!(printed["application"], "Quayside");
}

/// A browser behind chromedriver, spoken to directly.
struct Browser {
    driver: Child,
    session: String,
    client: reqwest::Client,
}

impl Browser {
    async fn start() -> Self {
        let driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver");
        let mut browser = Self { driver, session: String::new(), client: client() };
        let mut lines = BufReader::new(browser.driver.stdout.take().expect("a pipe")).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .filter_map(|line| Some(line.split("on port ").nth(1)?.trim_end_matches('.').to_owned()))
            .find(|port| port != "0")
            .expect("the port of chromedriver");
        // Keeps reading, so that the driver never meets a full or closed pipe.
        std::thread::spawn(move || lines.for_each(drop));
        browser.session = format!("http://127.0.0.1:{port}/session");
        let options = json!({ "args": ["--headless=new", "--no-sandbox", "--disable-gpu"] });
        let wanted = json!({ "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let answer = browser.call("", json!({ "capabilities": { "alwaysMatch": wanted } })).await;
        let id = answer["sessionId"].as_str().unwrap_or_else(|| panic!("no session: {answer}"));
        browser.session = format!("{}/{id}", browser.session);
        browser
    }

    async fn call(&self, path: &str, body: Value) -> Value {
        let answer = self.client.post(format!("{}{path}", self.session)).json(&body).send().await.expect("an answer");
        answer.json::<Value>().await.expect("json")["value"].take()
    }

    async fn run(&self, script: &str) -> Value {
        self.call("/execute/async", json!({ "script": script, "args": [] })).await
    }

    /// Errors of the console since the last call, without the picture of the other origin.
    async fn errors(&self) -> Vec<String> {
        let log = self.call("/se/log", json!({ "type": "browser" })).await;
        let entries = log.as_array().cloned().unwrap_or_default();
        let severe = entries.into_iter().filter(|entry| entry["level"] == "SEVERE");
        severe
            .filter_map(|entry| Some(entry["message"].as_str()?.to_owned()))
            .filter(|text| !text.contains(":9/"))
            .collect()
    }

    async fn stop(self) {
        let _ = self.client.delete(&self.session).send().await;
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to end, the driver takes its browser with it.
        let _ = Command::new("kill").arg(self.driver.id().to_string()).status();
        let _ = self.driver.wait();
    }
}

/// Waits until the page is loaded and has had time for its first requests.
const LOADED: &str = "const done = arguments[0]; const look = () => document.readyState === 'complete' \
    ? setTimeout(() => done(document.body.innerText.trim().length), 150) : setTimeout(look, 10); look();";

#[tokio::test]
async fn pages_load_in_a_browser_with_planted_errors_only() {
    let browser = Browser::start().await;
    for (options, planted) in [
        (
            Options::default(),
            vec![("/products/1", "photos/1.svg"), ("/reports", "TypeError"), ("/widgets", "widgets-extra.js")],
        ),
        (fixed(&["all"]), vec![]),
    ] {
        let server = Server::start(options).await.expect("a server");
        let go = async |path: &str| {
            browser.call("/url", json!({ "url": server.url.join(path).expect("an address") })).await;
        };
        go("/login").await;
        let sign_in = format!(
            "const form = document.querySelector('form'); form.username.value = '{USERNAME}'; form.password.value = '{PASSWORD}'; \
             form.submit(); arguments[0]();"
        );
        browser.run(&sign_in).await;
        browser.run(LOADED).await;
        browser.errors().await;
        for entry in manifest().routes {
            go(&entry.route).await;
            let length = browser.run(LOADED).await.as_u64().unwrap_or(0);
            let errors = browser.errors().await;
            let wanted: Vec<&str> =
                planted.iter().filter(|(route, _)| *route == entry.route).map(|(_, text)| *text).collect();
            assert_eq!(errors.len(), wanted.len(), "{}: {errors:?}", entry.route);
            assert!(
                wanted.iter().all(|text| errors.iter().any(|error| error.contains(text))),
                "{}: {errors:?}",
                entry.route
            );
            let blank = entry.route == "/insights" && !planted.is_empty();
            assert_eq!(length == 0, blank, "{}", entry.route);
        }
        assert_eq!(server.ledger().mutations, []);
        server.shutdown().await;
    }
    browser.stop().await;
}
