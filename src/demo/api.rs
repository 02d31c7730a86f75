//! The routes: pages for a browser, `/api/` for their scripts, the ledger and the manifest for everybody.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, Request, State as Shared};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, Sse};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{any, delete, get, post, put};
use axum::{Form, Json};
use maud::Markup;
use serde::Deserialize;
use serde_json::{Value, json};

use super::data::Product;
use super::ledger::Mutation;
use super::manifest;
use super::pages::{
    activity, customers, dashboard, exports, help, insights, login, mailbox, orders, product, products, reports,
    settings, small, widgets, wizard,
};
use super::server::{PASSWORD, USERNAME, World};
use super::shell::View;

/// Draws a page that needs nothing but the switches.
type Draw = fn(&View) -> Markup;

type Here = Shared<Arc<World>>;

const COOKIE: &str = "quayside_session";

/// Everything that the server answers.
pub(super) fn router(world: Arc<World>) -> Router {
    let pages: [(&str, Draw); 14] = [
        ("/", dashboard::page),
        ("/orders", orders::page),
        ("/customers", customers::page),
        ("/wizard", wizard::page),
        ("/settings/general", settings::general),
        ("/settings/billing", settings::billing),
        ("/reports", reports::page),
        ("/reports/frame", reports::frame),
        ("/insights", insights::page),
        ("/widgets", widgets::page),
        ("/app", mailbox::page),
        ("/help", help::page),
        ("/activity", activity::page),
        ("/exports", exports::page),
    ];
    let mut router = Router::new();
    for (path, page) in pages {
        let draw = async move |Shared(world): Here| Html(page(&View { switches: &world.switches, path }).into_string());
        router = router.route(path, get(draw));
    }
    router
        .route("/products", get(product_list))
        .route("/products/{id}", get(product_page))
        .route("/status", get(status_page))
        .route("/settings/billing/invoice", get(invoice_page))
        .route("/settings/billing/methods", get(methods_page))
        .route("/help/guide", get(guide_page))
        .route("/help/release-notes", get(notes_page))
        .route("/help/handbook.txt", get(async || attachment("text/plain", "handbook.txt", "Quayside handbook\n")))
        .route("/login", get(login_page).post(login_post))
        .route("/logout", any(logout))
        .route("/favicon.svg", get(async || svg(FAVICON)))
        .route("/favicon.ico", get(async || svg(FAVICON)))
        .route("/photos/{name}", get(photo))
        .route("/assets/{name}", get(asset))
        .route("/api/demo/ledger", get(async |Shared(world): Here| Json(world.ledger())))
        .route("/api/demo/manifest", get(async |Shared(world): Here| Json(manifest::build(&world.switches))))
        .route("/api/products", get(list).post(create))
        .route("/api/products/{id}", put(rename).delete(remove))
        .route("/api/products/export.csv", get(export_csv))
        .route("/api/products/export.json", get(export_json))
        .route("/api/products/{id}/duplicate", post(duplicate))
        .route("/api/products/{id}/history", get(async || said("Older counts: 38, 41, 44")))
        .route("/api/products/{id}/suppliers", get(suppliers))
        .route("/api/workspace", delete(remove_all))
        .route("/api/orders/refresh", get(refresh))
        .route("/api/avatars/{id}", get(async || (StatusCode::NOT_FOUND, Json(json!({"error": "no avatar"})))))
        .route("/api/postcode/{code}", get(async || Json(json!({"city": "Hamburg"}))))
        .route("/api/settings/check", get(check))
        .route("/api/billing/usage", get(async || said("412 of 1,000 parcels this month")))
        .route("/api/reports/drill", get(drill))
        .route("/api/stats", get(async || Json(json!({"orders": 6}))))
        .route("/api/archive", get(archive))
        .route("/api/activity/stream", get(stream))
        .route("/api/activity/poll", get(poll))
        .route("/api/{*rest}", any(other))
        .fallback(missing)
        .layer(from_fn_with_state(Arc::clone(&world), gate))
        .with_state(world)
}

/// Counts the request and asks for a session where one is needed.
async fn gate(Shared(world): Here, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    if path.starts_with("/api/demo/") {
        return next.run(request).await;
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let allowed = {
        let mut state = world.state();
        state.ledger.requests += 1;
        if changes && path != "/login" {
            let method = request.method().as_str().to_owned();
            state.ledger.mutations.push(Mutation { method, path: path.clone() });
        }
        session(request.headers()).is_some_and(|session| state.sessions.contains(session))
    };
    let public = matches!(path.as_str(), "/login" | "/favicon.svg" | "/favicon.ico") || path.starts_with("/assets/");
    if allowed || public {
        return next.run(request).await;
    }
    if path.starts_with("/api/") {
        return (StatusCode::UNAUTHORIZED, Json(json!({"error": "no session"}))).into_response();
    }
    Redirect::to(&login_address(&path)).into_response()
}

fn login_address(next: &str) -> String {
    let query: String = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
    format!("/login?{query}")
}

fn session(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

#[derive(Deserialize)]
struct Onward {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct Credentials {
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    next: String,
}

async fn login_page(Shared(world): Here, Query(onward): Query<Onward>) -> Html<String> {
    Html(login::page(&view(&world, "/login"), &onward.next, false).into_string())
}

async fn login_post(Shared(world): Here, Form(form): Form<Credentials>) -> Response {
    if form.username != USERNAME || form.password != PASSWORD {
        let page = login::page(&view(&world, "/login"), &form.next, true).into_string();
        return (StatusCode::UNAUTHORIZED, Html(page)).into_response();
    }
    let token = uuid::Uuid::now_v7().simple().to_string();
    let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax");
    let mut state = world.state();
    state.ledger.logins += 1;
    state.sessions.insert(token);
    drop(state);
    // Only paths of this server: no open redirect.
    let target = if form.next.starts_with('/') && !form.next.starts_with("//") { form.next.as_str() } else { "/" };
    ([(header::SET_COOKIE, cookie)], Redirect::to(target)).into_response()
}

async fn logout(Shared(world): Here, headers: HeaderMap) -> Redirect {
    if let Some(token) = session(&headers) {
        let mut state = world.state();
        if state.sessions.remove(token) {
            state.ledger.logouts += 1;
        }
    }
    Redirect::to("/login")
}

fn view<'a>(world: &'a World, path: &'a str) -> View<'a> {
    View { switches: &world.switches, path }
}

async fn product_list(Shared(world): Here) -> Html<String> {
    let all = world.state().products.clone();
    Html(products::page(&view(&world, "/products"), &all).into_string())
}

async fn product_page(Shared(world): Here, Path(id): Path<u32>) -> Response {
    let found = world.state().products.iter().find(|product| product.id == id).cloned();
    match found {
        // Bugs are planted for `/products/1`; every product's page shares them.
        Some(found) => Html(product::page(&view(&world, "/products/1"), &found).into_string()).into_response(),
        None => missing(Shared(world)).await,
    }
}

async fn missing(Shared(world): Here) -> Response {
    let page = small::error(&view(&world, ""), "404 Not found", "There is no such page.");
    (StatusCode::NOT_FOUND, Html(page.into_string())).into_response()
}

async fn status_page(Shared(world): Here) -> Response {
    let view = view(&world, "/status");
    if world.switches.live("dashboard-status-500") {
        let page = small::error(&view, "500 Internal Server Error", "The status service did not answer.");
        return (StatusCode::INTERNAL_SERVER_ERROR, Html(page.into_string())).into_response();
    }
    Html(small::page(&view, "Status", "All systems work.").into_string()).into_response()
}

async fn invoice_page(Shared(world): Here) -> Html<String> {
    let view = view(&world, "/settings/billing/invoice");
    let page = if world.switches.live("billing-invoice-error-page") {
        small::error(
            &view,
            "Application error",
            "Oops, something went wrong while loading this page. Please try again later.",
        )
    } else {
        small::page(&view, "Invoice 2026-05", "Team plan, € 49.00, paid.")
    };
    Html(page.into_string())
}

async fn methods_page(Shared(world): Here) -> Response {
    if world.switches.live("billing-methods-login") {
        return Redirect::to(&login_address("/settings/billing/methods")).into_response();
    }
    Html(
        small::page(&view(&world, "/settings/billing/methods"), "Payment methods", "Card ending in 4242.")
            .into_string(),
    )
    .into_response()
}

async fn guide_page(Shared(world): Here) -> Html<String> {
    Html(
        small::page(&view(&world, "/help/guide"), "Guide", "Start with a product, then invite customers.")
            .into_string(),
    )
}

async fn notes_page(Shared(world): Here) -> Response {
    if world.switches.live("help-release-notes-404") {
        return missing(Shared(world)).await;
    }
    Html(
        small::page(&view(&world, "/help/release-notes"), "Release notes", "Version 4 brings dark mode.").into_string(),
    )
    .into_response()
}

const FAVICON: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#1f6feb"/><path d="M8 20h16l-3 5H11zM15 7h2v11h-2z" fill="#fff"/></svg>"##;
const PHOTO: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" width="120" height="120"><rect width="120" height="120" rx="12" fill="#e8f1ff"/><path d="M60 25l28 35H32z" fill="#1f6feb"/><rect x="57" y="60" width="6" height="32" fill="#5d6b7c"/></svg>"##;

fn svg(text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "image/svg+xml")], text)
}

async fn photo(Shared(world): Here) -> Response {
    if world.switches.live("product-photo-broken") { missing(Shared(world)).await } else { svg(PHOTO).into_response() }
}

async fn asset(Shared(world): Here, Path(name): Path<String>) -> Response {
    let text = match name.as_str() {
        "app.css" => include_str!("assets/app.css"),
        "app.js" => include_str!("assets/app.js"),
        "pages.js" => include_str!("assets/pages.js"),
        "products.js" => include_str!("assets/products.js"),
        "orders.js" => include_str!("assets/orders.js"),
        "mailbox.js" => include_str!("assets/mailbox.js"),
        "widgets.js" => include_str!("assets/widgets.js"),
        "widgets-extra.js" if !world.switches.live("widgets-script-missing") => "'use strict';\n",
        _ => return missing(Shared(world)).await,
    };
    let is_style = std::path::Path::new(&name).extension().is_some_and(|extension| extension == "css");
    let kind = if is_style { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

fn attachment(kind: &'static str, name: &str, text: impl Into<String>) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, disposition)], text.into()).into_response()
}

fn said(text: &str) -> Json<Value> {
    Json(json!({ "text": text }))
}

/// A failure of the server, as the scripts read it.
fn broken() -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({"error": "internal"}))).into_response()
}

async fn export_csv(Shared(world): Here) -> Response {
    let lines: Vec<String> = world
        .state()
        .products
        .iter()
        .map(|product| format!("{},{},{}", product.id, product.name, product.price))
        .collect();
    attachment("text/csv", "products.csv", format!("id,name,price\n{}\n", lines.join("\n")))
}

async fn export_json(Shared(world): Here) -> Response {
    let text = serde_json::to_string(&world.state().products).unwrap_or_default();
    attachment("application/json", "products.json", text)
}

#[derive(Deserialize)]
struct Search {
    #[serde(default)]
    q: String,
}

async fn list(Shared(world): Here, Query(search): Query<Search>) -> Json<Vec<Product>> {
    let wanted = search.q.to_lowercase();
    Json(
        world
            .state()
            .products
            .iter()
            .filter(|product| product.name.to_lowercase().contains(&wanted))
            .cloned()
            .collect(),
    )
}

#[derive(Deserialize)]
struct Draft {
    name: Option<String>,
    price: Option<String>,
}

async fn create(Shared(world): Here, Json(draft): Json<Draft>) -> Json<Value> {
    let mut state = world.state();
    let id = next_id(&state.products);
    let price = draft.price.and_then(|price| price.parse().ok()).unwrap_or(0);
    let name = draft.name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("Product {id}"));
    state.products.push(Product { id, name, price, stock: 0, status: "Draft".to_owned() });
    Json(json!({ "id": id }))
}

fn next_id(products: &[Product]) -> u32 {
    products.iter().map(|product| product.id).max().unwrap_or(0).saturating_add(1)
}

async fn rename(Shared(world): Here, Path(id): Path<u32>, Json(draft): Json<Draft>) -> Response {
    let mut state = world.state();
    let Some(product) = state.products.iter_mut().find(|product| product.id == id) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if let Some(name) = draft.name.filter(|name| !name.is_empty()) {
        product.name = name;
    }
    if let Some(price) = draft.price.and_then(|price| price.parse().ok()) {
        product.price = price;
    }
    Json(json!({ "ok": true })).into_response()
}

async fn duplicate(Shared(world): Here, Path(id): Path<u32>) -> Response {
    let mut state = world.state();
    let Some(original) = state.products.iter().find(|product| product.id == id).cloned() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let id = next_id(&state.products);
    state.products.push(Product { id, name: format!("{} (copy)", original.name), ..original });
    Json(json!({ "id": id })).into_response()
}

async fn remove(Shared(world): Here, Path(id): Path<u32>) -> StatusCode {
    let mut state = world.state();
    let before = state.products.len();
    state.products.retain(|product| product.id != id);
    let gone = (before - state.products.len()) as u64;
    state.ledger.deleted += gone;
    if gone == 0 { StatusCode::NOT_FOUND } else { StatusCode::OK }
}

async fn remove_all(Shared(world): Here) -> Json<Value> {
    let mut state = world.state();
    state.ledger.deleted += state.products.len() as u64;
    state.products.clear();
    Json(json!({ "ok": true }))
}

/// Every other change is taken and counted; other reads do not exist.
async fn other(method: Method) -> Response {
    if method == Method::GET {
        return (StatusCode::NOT_FOUND, Json(json!({"error": "not found"}))).into_response();
    }
    Json(json!({ "ok": true })).into_response()
}

async fn suppliers(Shared(world): Here) -> Response {
    if world.switches.live("product-suppliers-500") { broken() } else { said("Lumen Works, Nordlicht").into_response() }
}

async fn refresh(Shared(world): Here) -> Response {
    if world.switches.live("orders-refresh-500") { broken() } else { Json(json!({ "ok": true })).into_response() }
}

async fn check(Shared(world): Here) -> Json<Value> {
    Json(json!({ "ok": !world.switches.live("settings-connection-toast") }))
}

async fn drill(Shared(world): Here) -> Response {
    if world.switches.live("reports-drill-500") { broken() } else { said("Lamps lead with 31 %").into_response() }
}

async fn archive() -> Json<Value> {
    Json(
        json!([{ "subject": "Old price list", "date": "2026-01-12" }, { "subject": "Winter rota", "date": "2025-12-01" }]),
    )
}

/// One event every two seconds until the visitor leaves or the server stops.
async fn stream(Shared(world): Here) -> Sse<impl futures_util::Stream<Item = Result<Event, Infallible>>> {
    let stopping = world.stopping.clone();
    Sse::new(futures_util::stream::unfold((0_u64, stopping), async |(number, mut stopping)| {
        let stop = tokio::time::timeout(Duration::from_secs(2), stopping.wait_for(|stop| *stop)).await.is_ok();
        (!stop).then(|| (Ok(Event::default().data(number.to_string())), (number + 1, stopping)))
    }))
}

/// A long poll: answers after twenty seconds, or when the server stops.
async fn poll(Shared(world): Here) -> Json<Value> {
    let mut stopping = world.stopping.clone();
    let _ = tokio::time::timeout(Duration::from_secs(20), stopping.wait_for(|stop| *stop)).await;
    Json(json!({ "news": 0 }))
}
