//! How elements are used: the gesture that their listeners ask for, the options of lists; and how much code that runs.

use std::sync::LazyLock;

use serde_json::Value;

use crate::explore_kit::{Ran, children};

const PAGES: &[(&str, &str)] = &[
    (
        "/gestures",
        "<style>div { width: 160px; height: 24px; margin: 4px; background: #ddd }</style>
        <div id=twice>Open by two</div><div id=both>One or two</div><div id=held>Press long</div><div id=key tabindex=0>Type here</div>
        <script>get('twice').addEventListener('dblclick', () => hit('twice'));
        get('both').addEventListener('click', () => hit('both/one')); get('both').addEventListener('dblclick', () => hit('both/two'));
        let down = 0; get('held').addEventListener('mousedown', () => { down = performance.now(); });
        get('held').addEventListener('mouseup', () => hit(performance.now() - down > 500 ? 'held/long' : 'held/short'));
        get('key').addEventListener('keydown', (event) => { if (event.key === 'Enter') hit('key'); });</script>",
    ),
    (
        "/right",
        "<style>#menu { position: absolute; left: 10px; top: 160px; background: #eee }</style>
        <div id=area style='width: 200px; height: 40px; background: #ddd'>Canvas</div><ul role=menu id=menu hidden><li role=menuitem tabindex=0 id=item>Bring to front</li></ul>
        <script>get('area').addEventListener('contextmenu', (event) => { event.preventDefault(); get('menu').hidden = false; });
        get('item').onclick = () => { hit('right/item'); get('menu').hidden = true; };
        addEventListener('keydown', (event) => { if (event.key === 'Escape') get('menu').hidden = true; });</script>",
    ),
    (
        "/filter",
        "<label>State <select id=state><option>All<option>Open<option>Paid<option>Late<option>Lost<option disabled>Secret</select></label>
        <p id=list>All entries</p>
        <form action=/send method=post><label>Country <select name=country><option>Chile<option>Ghana</select></label></form>
        <script>get('state').onchange = (event) => { hit('filter/' + event.target.value); get('list').textContent = event.target.value + ' entries';
          if (event.target.value === 'Paid') get('list').insertAdjacentHTML('beforeend', '<button onclick=\"hit(`filter/inner`)\">Remind</button>'); };</script>",
    ),
    (
        "/code",
        "<script>function used() { hit('code'); return 'a piece of code that a button runs'; }
        function never() { return 'a piece of code that nobody ever runs, and that is somewhat longer than the one that is run'; }</script>
        <button onclick='used()'>Run</button>",
    ),
    (
        "/picks",
        "<style>#menu { position: absolute; left: 10px; top: 160px; background: #eee }</style>
        <button id=sort aria-haspopup=menu>Sort by</button><ul role=menu id=menu hidden><li role=menuitem tabindex=0>Age<li role=menuitem tabindex=0>Name<li role=menuitem tabindex=0>Price</ul>
        <script>get('sort').onclick = () => { get('menu').hidden = false; };
        for (const item of document.querySelectorAll('li')) item.onclick = () => { hit('picks/' + item.innerText); get('menu').hidden = true; };</script>",
    ),
    (
        "/broken",
        "<label>Sort <select id=sort><option>Name<option>Date</select></label>
        <script>get('sort').onchange = () => { throw new Error('no such column'); };</script>",
    ),
];

fn explored(options: &[&str]) -> Ran {
    let routes: Vec<&str> = PAGES.iter().map(|(route, _)| *route).collect();
    Ran::explore(PAGES, &routes, options, &[])
}

static RAN: LazyLock<Ran> = LazyLock::new(|| explored(&["--context-menus"]));

/// The steps of a bug's trace: tool, and what was given.
fn trace(bug: &Value) -> Vec<(&str, Option<&str>)> {
    let steps = bug["trace"].as_array().unwrap().iter();
    steps.map(|step| (step["tool"].as_str().unwrap(), step["value"].as_str())).skip(1).collect()
}

#[test]
fn what_hears_a_double_click_is_clicked_twice() {
    RAN.node("/gestures", "Open by two (double click)");
    RAN.assert_hit("twice");
    RAN.assert_hit("both/one");
    RAN.assert_hit("both/two");
}

#[test]
fn what_hears_a_press_and_its_release_is_held() {
    RAN.assert_hit("held/long");
    RAN.assert_untouched("/hit/held/short");
}

#[test]
fn what_hears_keys_only_gets_the_focus_and_enter() {
    RAN.assert_hit("key");
}

#[test]
fn a_menu_of_the_right_button_is_opened_and_each_item_used() {
    let node = RAN.node("/right", "Canvas (right click)");
    assert_eq!(node["action_result"], "dropdown_opened", "{node:#}");
    assert_eq!(children(node), ["Bring to front"]);
    RAN.assert_hit("right/item");
}

#[test]
fn without_being_asked_the_right_button_is_left_alone_and_said_so() {
    let ran = Ran::explore(PAGES, &["/right"], &[], &[]);
    let node = ran.node("/right", "Canvas (right click)");
    assert_eq!(node["skipped_reason"], "opens with the right button, which is not asked for");
    ran.assert_untouched("/hit/right");
}

#[test]
fn a_menu_that_closes_with_each_choice_is_opened_again_without_a_load() {
    assert_eq!(children(RAN.node("/picks", "Sort by")), ["Age", "Name", "Price"]);
    for item in ["Age", "Name", "Price"] {
        RAN.assert_hit(&format!("picks/{item}"));
    }
    let loads = RAN.requests.iter().filter(|seen| seen.path == "/picks").count();
    assert_eq!(loads, 1, "the page was loaded again on the way");
}

#[test]
fn three_options_of_a_list_are_chosen_and_the_rest_is_counted() {
    let node = RAN.node("/filter", "State");
    assert_eq!(children(node), ["Open", "Late", "Lost"]);
    for option in ["Open", "Late", "Lost"] {
        RAN.assert_hit(&format!("filter/{option}"));
        assert_eq!(RAN.result("/filter", option), "content_changed");
    }
    RAN.assert_untouched("/hit/filter/Secret");
    assert!(RAN.node("/filter", "Open")["note"].as_str().unwrap().contains("stands for 1 more"));
}

#[test]
fn what_was_chosen_before_is_chosen_again() {
    let asked: Vec<&str> = RAN.requests.iter().filter_map(|seen| seen.path.strip_prefix("/hit/filter/")).collect();
    assert_eq!(asked.last(), Some(&"All"), "{asked:?}");
}

#[test]
fn a_list_of_a_form_is_not_filled_in() {
    assert!(children(RAN.node("/filter", "Country")).is_empty());
}

#[test]
fn a_fault_of_an_option_is_a_bug_that_can_be_played_again() {
    let bug = &RAN.bugs("/broken")[0];
    assert_eq!((bug["kind"].as_str(), bug["location"].as_str()), (Some("exception"), Some("/broken > Sort > Date")));
    assert_eq!(bug["confirmed"], true);
    assert_eq!(trace(bug), [("select", Some("Date"))]);
}

#[test]
fn the_report_says_how_much_of_the_applications_code_ran() {
    let scripts = RAN.report("/code")["coverage"]["scripts"].as_array().unwrap();
    let (bytes, used) = scripts.iter().fold((0, 0), |(bytes, used), script| {
        (bytes + script["bytes"].as_u64().unwrap(), used + script["used_bytes"].as_u64().unwrap())
    });
    let never =
        "{ return 'a piece of code that nobody ever runs, and that is somewhat longer than the one that is run'; }";
    assert!(used > 100 && bytes - used >= never.len() as u64, "{scripts:#?}");
    assert!(scripts.iter().all(|script| script["url"].as_str().unwrap().ends_with("/code")), "{scripts:#?}");
}
