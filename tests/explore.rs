//! `explore`: what an exploration meets and what it never does, in a real browser on small pages.
//!
//! One exploration serves most tests: a browser is slow to start, a further route is not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::Value;

use crate::explore_kit::{Ran, Seen, children, nodes};

const PAGES: &[(&str, &str)] = &[
    (
        "/dialog",
        "<button onclick='get(`one`).showModal()'>Open</button>
        <dialog id=one aria-label=One><p>First</p><button onclick='get(`two`).showModal()'>More</button>
          <button onclick='get(`one`).close()'>Close</button></dialog>
        <dialog id=two aria-label=Two><p>Second</p><button onclick='hit(`dialog/inner`); get(`in`).textContent = `seen`'>Inner</button><b id=in></b>
          <button onclick='get(`two`).close()'>Close</button></dialog>",
    ),
    (
        "/menu",
        "<style>[role=menu] { position: absolute; z-index: 5; background: white; list-style: none }</style>
        <button id=file aria-haspopup=menu aria-expanded=false>File</button>
        <ul role=menu id=menu hidden><li role=menuitem tabindex=0 onclick='hit(`menu/copy`); close_all()'>Copy</li>
          <li role=menuitem tabindex=0 aria-haspopup=menu id=export>Export</li></ul>
        <ul role=menu id=sub hidden style='left: 200px'><li role=menuitem tabindex=0 onclick='hit(`menu/csv`); close_all()'>As CSV</li></ul>
        <script>const close_all = () => { get('menu').hidden = true; get('sub').hidden = true; get('file').ariaExpanded = 'false'; };
        get('file').onclick = () => { get('menu').hidden = false; get('file').ariaExpanded = 'true'; };
        get('export').onclick = () => { get('sub').hidden = false; };
        addEventListener('keydown', (event) => { if (event.key === 'Escape') close_all(); });</script>",
    ),
    (
        "/wizard",
        "<button onclick='step = 1; draw(); get(`w`).showModal()'>Start</button>
        <dialog id=w aria-label=Wizard><h2 id=at>Step 1 of 3</h2><p id=text>Names</p>
          <button id=next onclick='step += 1; hit(`wizard/${step}`); draw()'>Next</button><button onclick='get(`w`).close()'>Cancel</button></dialog>
        <script>let step = 1; const draw = () => { get('at').textContent = `Step ${step} of 3`; get('text').textContent = ['Names', 'Sizes', 'Summary'][step - 1];
          get('next').hidden = step === 3; };</script>",
    ),
    (
        "/tabs",
        "<div role=tablist><button role=tab aria-selected=true id=t0>First</button><button role=tab aria-selected=false id=t1>Second</button>
          <button role=tab aria-selected=false id=t2>Third</button></div><div role=tabpanel id=panel><button onclick='hit(`tabs/0`)'>On first</button></div>
        <script>const names = ['first', 'second', 'third']; names.forEach((name, at) => { get('t' + at).onclick = () => {
          names.forEach((_, other) => get('t' + other).setAttribute('aria-selected', String(other === at)));
          get('panel').innerHTML = `<button onclick='hit(\"tabs/${at}\")'>On ${name}</button>`; }; });</script>",
    ),
    ("/details", "<details><summary>More about it</summary><button onclick='hit(`details/inside`)'>Inside</button></details>"),
    (
        "/disabled",
        "<button disabled>Native</button><button aria-disabled=true onclick='fetch(`/forbidden/disabled`)'>Marked</button>",
    ),
    (
        "/toast",
        "<button onclick='get(`toast`).textContent = `Kept for later`'>Keep</button><div role=status id=toast></div>",
    ),
    (
        "/window",
        "<button onclick='window.open(`/child?by=button`)'>Preview</button><a href='/child?by=link' target=_blank>Manual</a>
        <button onclick='show(`still here`)'>After</button>",
    ),
    ("/child", "<script>fetch('/hit/window/' + new URLSearchParams(location.search).get('by'))</script>"),
    (
        "/questions",
        "<button onclick='alert(`Hello there`); show(`told`)'>Tell</button>
        <button onclick='if (confirm(`Go on with it?`)) fetch(`/forbidden/confirm`); else hit(`questions/confirm`)'>Ask</button>
        <button onclick='if (prompt(`Which name?`) !== null) fetch(`/forbidden/prompt`); else hit(`questions/prompt`)'>Name it</button>",
    ),
    ("/download", "<a href='/figures.csv'>Figures</a>"),
    ("/chooser", "<label for=f>Portrait</label> <input type=file id=f>"),
    (
        "/outside",
        "<a href='OTHER/elsewhere'>Partner</a><button onclick='location.href = `OTHER/by-script`'>Partner by script</button>",
    ),
    (
        "/shadow",
        "<div id=open></div><div id=closed></div><script>for (const mode of ['open', 'closed']) {
          const root = get(mode).attachShadow({ mode }); root.innerHTML = `<button>In ${mode}</button>`;
          root.querySelector('button').onclick = () => hit('shadow/' + mode); }</script>",
    ),
    ("/frame", "<iframe src=/framed title=Framed width=400 height=200></iframe>"),
    ("/framed", "<button onclick='hit(`frame/inside`)'>Within</button>"),
    (
        "/spa",
        "<main id=view></main><script>const draw = () => { get('view').innerHTML = location.hash === '#/list'
          ? '<h2>List</h2><button onclick=\"hit(`spa/list`)\">Sort</button><a href=\"#/one\">One</a>' : '<h2>Other</h2>'; };
        addEventListener('hashchange', draw); draw();</script>",
    ),
    (
        "/covered",
        "<button style='margin-top: 20px' onclick='hit(`covered/below`)'>Below</button>
        <div id=bar style='position: fixed; inset: 0; background: #eee; z-index: 9'><p>We use cookies</p><button onclick='get(`bar`).remove()'>Got it</button></div>",
    ),
    (
        "/lazy",
        "<div style='height: 3000px'>Tall</div><div id=end style='height: 80px'></div>
        <script>new IntersectionObserver(([entry], watch) => { if (entry.isIntersecting) { watch.disconnect();
          get('end').innerHTML = '<button onclick=\"hit(`lazy/late`)\">Came late</button>'; } }).observe(get('end'));</script>",
    ),
    ("/far", "<div style='height: 6000px'>Tall</div><button onclick='hit(`far/below`)'>Far below</button>"),
    (
        "/writes",
        "<form method=post action=/api/writes/form><input name=a value=1 aria-label=Amount><button>Keep form</button></form>
        <button onclick='fetch(`/api/writes/put`, { method: `PUT` }).then(() => show(`put`))'>By put</button>
        <button onclick='fetch(`/api/writes/delete`, { method: `DELETE` }).catch(() => { get(`toast`).textContent = `Tidying failed` })'>By fetch</button>
        <button onclick='const x = new XMLHttpRequest(); x.open(`PATCH`, `/api/writes/patch`); x.onerror = () => { throw new Error(`not sent`) }; x.send()'>By XHR</button>
        <button onclick='navigator.sendBeacon(`/api/writes/beacon`, `x`); show(`counted`)'>By beacon</button><div role=alert id=toast></div>
        <script>fetch('/api/writes/load', { method: 'POST' });</script>",
    ),
    (
        "/gets",
        "<a href='/items/1/delete'>First item</a><a href='/list?action=delete'>All items</a>
        <button onclick='fetch(`/api/clean`)'>Delete everything</button>",
    ),
    (
        "/leave",
        "<a href=/logout>Log out</a><a href=/logout>Bye</a><button onclick='document.cookie = `gone=1`; fetch(`/forbidden/leave`)'>Sign out</button>
        <button onclick='hit(`leave/stayed`)'>Stay</button>",
    ),
    (
        "/confirming",
        "<button onclick='get(`q`).showModal()'>Delete entry</button>
        <dialog id=q aria-label=Sure><p>Are you sure that this entry is to be deleted?</p><button onclick='get(`q`).close(); hit(`confirming/cancelled`)'>Cancel</button>
          <button onclick='fetch(`/api/entries/1`, { method: `DELETE` }); get(`q`).close()'>Delete</button></dialog>",
    ),
    (
        "/search",
        "<button onclick='fetch(`/api/search?q=1`, { method: `POST` }).then(() => show(`found`))'>Find</button>
        <button onclick='fetch(`/api/store`, { method: `POST` }).then(() => show(`stored`))'>Keep it</button>",
    ),
    (
        "/table",
        "<table><thead><tr><th>Name</th><th>Do</th></tr></thead><tbody id=rows></tbody></table><script>
        for (const n of [1, 2, 3, 4, 5]) get('rows').insertAdjacentHTML('beforeend',
          `<tr><td><a href='/row?id=${n}'>Row ${n}</a></td><td><button onclick='hit(\"table/edit-${n}\")'>Edit ${n}</button></td></tr>`);</script>",
    ),
    ("/row", "<button onclick='hit(`row/header`)'>Rename</button>"),
    (
        "/many",
        "<div id=list></div><script>for (let n = 1; n <= 40; n += 1)
          get('list').insertAdjacentHTML('beforeend', `<button onclick='hit(\"many/${n}\")'>Item ${n}</button>`);</script>",
    ),
    (
        "/breeds",
        "<div id=all><button onclick='breed(this)'>Next 1</button></div><script>let count = 1;
        const breed = (from) => { count += 1; get('all').insertAdjacentHTML('beforeend', `<button onclick='breed(this)'>Next ${count}</button>`); };</script>",
    ),
    (
        "/decoys",
        "<img src='OTHER/404.png' alt=partner><script>console.warn('only a warning'); fetch('OTHER/500').catch(() => 0);</script>
        <button onclick='fetch(`/404`).then((answer) => show(`status ${answer.status}`))'>Look up</button>
        <button onclick='const c = new AbortController(); fetch(`/poll`, { signal: c.signal }).catch(() => show(`given up`)); c.abort()'>Give up</button>
        <a href='/decoys'>This page</a><a href='#'>Placeholder</a>
        <div role=tablist><button role=tab aria-selected=true>Only tab</button></div>
        <form onsubmit='event.preventDefault(); get(`say`).textContent = `Please enter a name`'><input name=n aria-label=Name><button>Check</button><p role=alert id=say></p></form>
        <form><input name=m required aria-label=Must><button>Check too</button></form>",
    ),
    (
        "/alive",
        "<p id=clock></p><button onclick='hit(`alive/pressed`)'>Press</button><script>
        setInterval(() => { get('clock').textContent = new Date().toISOString(); }, 50);
        new EventSource('/events'); fetch('/poll');</script>",
    ),
];

static RAN: LazyLock<Ran> = LazyLock::new(|| {
    let routes: Vec<&str> = PAGES
        .iter()
        .map(|(route, _)| if *route == "/spa" { "/spa#/list" } else { route })
        .filter(|route| !matches!(*route, "/child" | "/framed" | "/row"))
        .collect();
    Ran::explore(PAGES, &routes, &["--no-confirm", "--allow-request", "POST /api/search*"], &[])
});

/// The exploration of all these pages.
pub fn ran() -> &'static Ran {
    &RAN
}

/// Pages of an application that may be changed.
const CHANGEABLE: &[(&str, &str)] = &[
    (
        "/confirming",
        "<button onclick=\"if (confirm('Delete the entry?')) fetch('/api/entries/1', {method: 'DELETE'})\">Delete entry</button>",
    ),
    (
        "/asking",
        "<button onclick='get(`q`).showModal()'>Delete entry</button><dialog id=q aria-label=Sure><p>Are you sure?</p>\
         <button onclick='get(`q`).close()'>Cancel</button>\
         <button onclick='fetch(`/api/entries/2`, { method: `DELETE` }); get(`q`).close()'>Delete</button></dialog>",
    ),
    (
        "/filling",
        "<header><button onclick=\"hit('filling/frame')\">Account</button> <a href=/logout>Log out</a></header>\
         <main><form id=f><label>Name <input name=name></label><label>E-mail <input name=mail type=email></label>\
         <label>Amount <input name=amount type=number></label><button>Save entry</button></form></main>\
         <script>get('f').onsubmit = (event) => { event.preventDefault(); const said = new FormData(get('f'));\
         fetch('/api/entries?' + new URLSearchParams(said), {method: 'POST'}); show('Saved'); };</script>",
    ),
    (
        "/parked",
        "<style>.drawer { position: fixed; top: 0; bottom: 0; width: 200px; transition: transform .1s; background: #eee }\
         .left { left: 0; transform: translateX(-100%) } .open { transform: none }</style>\
         <button onclick=\"get('d').classList.add('open')\">Open notes</button><button onclick=\"say('Stored')\">Store</button>\
         <div aria-live=polite id=said></div><script>const say = (text) => { get('said').innerHTML = `<p>${text}</p>`; };</script>\
         <aside class='drawer left' id=d><b class=title>Notes</b><button onclick=\"get('d').classList.remove('open')\">Close</button></aside>",
    ),
    (
        "/said",
        "<div aria-live=polite id=said></div><script>const say = (text, kind) => get('said').insertAdjacentHTML('beforeend',\
         `<p class=${kind}>${text}</p>`);</script><button onclick=\"say('Something went wrong', 'bad')\">Fails</button>\
         <button onclick=\"say('All is well', 'good')\">Works</button>",
    ),
];

/// Safe to mutate: questions are confirmed, forms are filled and sent.
static MUTATING: LazyLock<Ran> = LazyLock::new(|| {
    let routes: Vec<&str> = CHANGEABLE.iter().map(|(route, _)| *route).collect();
    Ran::explore(CHANGEABLE, &routes, &["--no-confirm", "--safe-to-mutate"], &[])
});

#[test]
fn a_dialog_in_a_dialog_is_entered_and_both_are_closed() {
    assert_eq!(RAN.result("/dialog", "Open"), "dialog_opened");
    assert!(children(RAN.node("/dialog", "Open")).contains(&"More"));
    assert_eq!(RAN.result("/dialog", "More"), "dialog_opened");
    assert!(children(RAN.node("/dialog", "More")).contains(&"Inner"));
    RAN.assert_hit("dialog/inner");
}

#[test]
fn each_item_of_a_menu_and_of_its_submenu_is_used() {
    assert_eq!(RAN.result("/menu", "File"), "dropdown_opened");
    assert_eq!(RAN.node("/menu", "File")["type"], "dropdown_trigger");
    assert_eq!(children(RAN.node("/menu", "File")), ["Copy", "Export"]);
    assert_eq!(RAN.result("/menu", "Export"), "submenu_opened");
    assert_eq!(children(RAN.node("/menu", "Export")), ["As CSV"]);
    RAN.assert_hit("menu/copy");
    RAN.assert_hit("menu/csv");
}

#[test]
fn a_wizard_is_gone_through_to_its_last_step() {
    assert_eq!(RAN.result("/wizard", "Start"), "wizard_opened");
    assert_eq!(RAN.node("/wizard", "Next")["type"], "wizard_step");
    RAN.assert_hit("wizard/2");
    RAN.assert_hit("wizard/3");
}

#[test]
fn each_tab_is_opened_and_what_it_shows_is_used() {
    assert_eq!(RAN.report("/tabs")["page_info"]["tabs"], serde_json::json!(["First", "Second", "Third"]));
    for (tab, panel) in [("Second", "On second"), ("Third", "On third")] {
        assert_eq!(RAN.node("/tabs", tab)["type"], "tab");
        assert!(children(RAN.node("/tabs", tab)).contains(&panel));
    }
    (0..3).for_each(|tab| RAN.assert_hit(&format!("tabs/{tab}")));
}

#[test]
fn what_a_summary_hides_is_found_below_it() {
    assert_eq!(children(RAN.node("/details", "More about it")), ["Inside"]);
    RAN.assert_hit("details/inside");
}

#[test]
fn a_disabled_control_is_in_the_report_and_never_pressed() {
    for label in ["Native", "Marked"] {
        let node = RAN.node("/disabled", label);
        assert_eq!((&node["state"], &node["action_result"]), (&"disabled".into(), &"not_clickable".into()));
        assert!(node["screenshot"].as_str().unwrap().ends_with("-disabled.png"));
    }
    RAN.assert_untouched("/forbidden/disabled");
    assert_eq!(RAN.report("/disabled")["coverage"]["disabled"], 2);
}

#[test]
fn a_toast_is_told_with_its_text() {
    assert_eq!(RAN.result("/toast", "Keep"), "toast_notification");
    assert!(RAN.node("/toast", "Keep")["note"].as_str().unwrap().contains("Kept for later"));
}

#[test]
fn a_new_window_is_looked_at_and_closed() {
    for (label, by) in [("Preview", "button"), ("Manual", "link")] {
        let node = RAN.node("/window", label);
        assert_eq!(node["action_result"], "new_window");
        assert!(node["url_after"].as_str().unwrap().ends_with(&format!("/child?by={by}")), "{node:#}");
        RAN.assert_hit(&format!("window/{by}"));
    }
    assert_eq!(RAN.result("/window", "After"), "content_changed");
}

#[test]
fn javascript_questions_are_answered_with_cancel_and_written_down() {
    assert_eq!(RAN.result("/questions", "Tell"), "dialog_opened");
    for (label, text) in [("Ask", "Go on with it?"), ("Name it", "Which name?")] {
        assert_eq!(RAN.result("/questions", label), "confirmation_dialog");
        assert!(RAN.node("/questions", label)["note"].as_str().unwrap().contains(text));
    }
    RAN.assert_untouched("/forbidden/confirm");
    RAN.assert_untouched("/forbidden/prompt");
    RAN.assert_hit("questions/confirm");
    RAN.assert_hit("questions/prompt");
    let flow = flow("/questions");
    let dialogs: Vec<&Value> = flow["trace"].as_array().unwrap().iter().filter_map(|step| step.get("dialog")).collect();
    let kinds: BTreeSet<&str> = dialogs.iter().filter_map(|dialog| dialog["kind"].as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["alert", "confirm", "prompt"]));
    assert!(dialogs.iter().filter(|dialog| dialog["kind"] != "alert").all(|dialog| dialog["accepted"] == false));
}

#[test]
fn a_download_is_stopped() {
    assert_eq!(RAN.result("/download", "Figures"), "download_started");
    assert!(!RAN.files.keys().any(|name| name.contains("figures")), "{:?}", RAN.files.keys());
}

#[test]
fn a_file_chooser_is_noticed_and_left() {
    assert_eq!(RAN.result("/chooser", "Portrait"), "file_chooser");
}

#[test]
fn another_origin_is_out_of_scope_and_never_asked() {
    assert_eq!(RAN.result("/outside", "Partner"), "out_of_scope");
    assert_eq!(RAN.result("/outside", "Partner by script"), "out_of_scope");
    let documents = |seen: &&Seen| matches!(seen.path.as_str(), "/elsewhere" | "/by-script");
    assert_eq!(RAN.elsewhere.iter().find(documents), None);
}

#[test]
fn open_and_closed_shadow_roots_are_seen_through() {
    for mode in ["open", "closed"] {
        assert_eq!(RAN.result("/shadow", &format!("In {mode}")), "content_changed");
        RAN.assert_hit(&format!("shadow/{mode}"));
    }
}

#[test]
fn a_frame_of_the_same_origin_is_entered() {
    assert_eq!(RAN.result("/frame", "Within"), "content_changed");
    assert!(RAN.node("/frame", "Within")["locator"]["frame"].is_array());
    RAN.assert_hit("frame/inside");
}

#[test]
fn a_route_behind_a_hash_is_explored_as_a_page_of_its_own() {
    assert!(RAN.report("/spa#/list")["page_info"]["url"].as_str().unwrap().ends_with("/spa#/list"));
    assert_eq!(RAN.result("/spa#/list", "One"), "page_navigated");
    RAN.assert_hit("spa/list");
}

#[test]
fn a_covered_control_is_reached_once_its_cover_is_closed() {
    RAN.assert_hit("covered/below");
    assert_eq!(RAN.result("/covered", "Below"), "content_changed");
}

#[test]
fn a_page_is_scrolled_for_what_comes_late() {
    assert_eq!(RAN.result("/lazy", "Came late"), "content_changed");
    RAN.assert_hit("lazy/late");
}

#[test]
fn a_control_far_below_the_fold_is_reached() {
    RAN.assert_hit("far/below");
}

#[test]
fn no_write_that_an_action_causes_reaches_the_server_and_the_pages_own_does() {
    assert!(RAN.asked("POST", "/api/writes/load") > 0);
    let written = |seen: &&Seen| seen.method != "GET" && !seen.path.ends_with("/load") && !seen.path.contains("search");
    assert_eq!(RAN.requests.iter().find(written), None);
    for label in ["Keep form", "By put", "By fetch", "By XHR"] {
        assert_eq!(RAN.result("/writes", label), "refused", "{label}");
    }
    // Nobody waits for a beacon: that it was stopped stands in the trace.
    let requests = RAN.node("/writes", "By beacon")["requests"].to_string();
    assert!(requests.contains("POST /api/writes/beacon -> refused"), "{requests}");
}

#[test]
fn what_was_stopped_is_no_fault_of_the_application() {
    assert_eq!(RAN.bugs("/writes"), &Vec::<Value>::new());
    assert_eq!(RAN.report("/writes")["status"], "pass");
    assert!(RAN.report("/writes")["noise"].to_string().contains("stopped by us: PUT /api/writes/put"));
}

#[test]
fn a_read_that_reads_destructive_is_not_sent() {
    for label in ["First item", "All items", "Delete everything"] {
        assert_eq!(RAN.result("/gets", label), "refused", "{label}");
    }
    RAN.assert_untouched("/items/1/delete");
    RAN.assert_untouched("/list?action=delete");
    RAN.assert_untouched("/api/clean");
    assert_eq!(RAN.bugs("/gets"), &Vec::<Value>::new());
}

#[test]
fn what_ends_the_session_is_never_pressed() {
    for label in ["Log out", "Bye", "Sign out"] {
        assert_eq!(RAN.result("/leave", label), "refused", "{label}");
    }
    RAN.assert_untouched("/logout");
    RAN.assert_untouched("/forbidden/leave");
    RAN.assert_hit("leave/stayed");
}

#[test]
fn a_question_before_a_deletion_is_opened_and_cancelled() {
    let node = RAN.node("/confirming", "Delete entry");
    assert_eq!(node["action_result"], "confirmation_dialog");
    assert_eq!(RAN.result("/confirming", "Delete"), "refused");
    RAN.assert_hit("confirming/cancelled");
    assert_eq!(RAN.asked("DELETE", "/api/entries/1"), 0);
}

#[test]
fn a_write_that_the_user_allows_leaves_and_others_do_not() {
    assert!(RAN.asked("POST", "/api/search?q=1") > 0);
    assert_eq!(RAN.result("/search", "Find"), "content_changed");
    assert_eq!(RAN.asked("POST", "/api/store"), 0);
    assert_eq!(RAN.result("/search", "Keep it"), "refused");
}

#[test]
fn with_safe_to_mutate_a_deletion_is_really_sent() {
    for (route, entry) in [("/confirming", "/api/entries/1"), ("/asking", "/api/entries/2")] {
        assert!(MUTATING.asked("DELETE", entry) > 0, "{:#}", MUTATING.report(route)["action_tree"]);
    }
    assert_eq!(MUTATING.run["settings"]["safeToMutate"], true);
}

#[test]
fn where_data_may_change_a_form_is_filled_and_sent() {
    let sent = "/api/entries?name=Test+entry&mail=tester%40example.com&amount=7";
    assert!(MUTATING.asked("POST", sent) > 0, "{:?}", MUTATING.requests);
}

#[test]
fn where_data_may_change_the_shared_frame_comes_last_and_the_session_is_kept() {
    let place = |path: &str| MUTATING.requests.iter().position(|seen| seen.path.starts_with(path));
    assert!(place("/hit/filling/frame") > place("/api/entries?name=Test"), "{:?}", MUTATING.requests);
    assert_eq!(MUTATING.result("/filling", "Log out"), "refused");
    MUTATING.assert_untouched("/logout");
}

#[test]
fn a_drawer_that_waits_beside_the_window_is_not_open() {
    assert_eq!(MUTATING.result("/parked", "Open notes"), "dialog_opened");
    assert_eq!(children(MUTATING.node("/parked", "Open notes")), ["Close"]);
    assert_eq!(MUTATING.result("/parked", "Store"), "toast_notification");
    assert!(MUTATING.bugs("/parked").is_empty(), "{:#?}", MUTATING.bugs("/parked"));
}

#[test]
fn a_message_that_still_stands_is_not_held_against_the_next_action() {
    let bugs: Vec<&Value> = MUTATING.bugs("/said").iter().map(|bug| &bug["location"]).collect();
    assert_eq!(bugs, ["/said > Fails"]);
    assert_eq!(MUTATING.node("/said", "Works")["note"], "\"All is well\"");
}

#[test]
fn the_first_row_stands_for_its_table_and_leads_to_the_detail_page() {
    let report = RAN.report("/table");
    let labels: Vec<&Value> =
        report["action_tree"]["row_actions"].as_array().unwrap().iter().map(|node| &node["label"]).collect();
    assert_eq!(labels, ["Row 1", "Edit 1"]);
    assert_eq!(
        (&report["page_info"]["row_count"], &report["coverage"]["skipped"]["equal to one that was acted on"]),
        (&5.into(), &8.into())
    );
    RAN.assert_hit("table/edit-1");
    (2..=5).for_each(|row| RAN.assert_untouched(&format!("/hit/table/edit-{row}")));
    assert_eq!(report["action_tree"]["detail_header_actions"][0]["label"], "Rename");
}

#[test]
fn three_stand_for_many_alike_and_the_rest_is_counted() {
    let report = RAN.report("/many");
    assert_eq!(nodes(report).len(), 3);
    assert_eq!(report["coverage"]["found"], 40);
    assert_eq!(report["coverage"]["skipped"]["equal to one that was acted on"], 37);
    assert_eq!(nodes(report)[0]["note"], "stands for 37 more like it");
}

#[test]
fn buttons_that_breed_buttons_end_and_say_so() {
    let report = RAN.report("/breeds");
    let limits = report["limits"].as_array().unwrap();
    assert!(limits.iter().any(|limit| limit.as_str().unwrap().contains("Next")), "{limits:?}");
    assert!(nodes(report).len() < 30, "{}", nodes(report).len());
}

#[test]
fn what_only_looks_like_a_fault_is_none() {
    assert_eq!(RAN.bugs("/decoys"), &Vec::<Value>::new());
    let noise = RAN.report("/decoys")["noise"].to_string();
    assert!(noise.contains("/500 failed") && noise.contains("GET /404 answered 404"), "{noise}");
    assert!(!RAN.elsewhere.is_empty(), "the page asks the other origin by itself");
}

#[test]
fn a_clock_an_event_source_and_a_long_poll_neither_count_nor_hold_up() {
    assert_eq!(RAN.bugs("/alive"), &Vec::<Value>::new());
    assert_eq!(RAN.result("/alive", "Press"), "content_changed");
    let took = RAN.report("/alive")["duration_ms"].as_u64().unwrap();
    assert!(took < 20_000, "{took} ms");
}

#[test]
fn no_page_without_a_fault_has_a_bug() {
    let wrong: BTreeMap<&String, &Value> = RAN
        .reports
        .iter()
        .map(|(route, report)| (route, &report["bugs"]))
        .filter(|(_, bugs)| *bugs != &serde_json::json!([]))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!((RAN.answer.code, &RAN.document["exitCode"]), (0, &0.into()));
}

fn flow(route: &str) -> &'static Value {
    RAN.run["flows"].as_array().unwrap().iter().find(|flow| flow["title"] == route).expect("a flow of the route")
}
