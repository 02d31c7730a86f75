//! A state in which a merge left its marks: which side has what, and what a repair takes.

use super::handin::read_report;
use super::model::{Place, State};
use super::replay::told;
use super::{Project, StateError};
use crate::route::Route;

/// What is said when the marks are not those that a merge writes, or not all of them.
pub(super) const ODD_MARKS: &str = "a merge conflict whose marks are not complete";

/// What the state is said to hold when a merge left its marks.
pub(super) fn named(text: &str) -> &'static str {
    if sides(text).is_some() { "an unresolved merge conflict" } else { ODD_MARKS }
}

/// One side of a conflict.
struct Side {
    name: String,
    text: String,
}

/// Both sides, when the text holds the marks that a merge writes at the beginning of lines.
fn sides(text: &str) -> Option<(Side, Side)> {
    #[derive(PartialEq)]
    enum In {
        Both,
        Ours,
        Base,
        Theirs,
    }
    let side = || Side { name: String::new(), text: String::new() };
    let (mut ours, mut theirs) = (side(), side());
    let mut place = In::Both;
    let mut conflicts = 0;
    for line in text.lines() {
        match place {
            In::Both if line.starts_with("<<<<<<<") => {
                conflicts += 1;
                ours.name = label(line);
                place = In::Ours;
                continue;
            }
            In::Ours if line.starts_with("|||||||") => {
                place = In::Base;
                continue;
            }
            In::Ours | In::Base if line.starts_with("=======") => {
                place = In::Theirs;
                continue;
            }
            In::Theirs if line.starts_with(">>>>>>>") => {
                theirs.name = label(line);
                place = In::Both;
                continue;
            }
            _ => {}
        }
        if matches!(place, In::Both | In::Ours) {
            ours.text.push_str(line);
            ours.text.push('\n');
        }
        if matches!(place, In::Both | In::Theirs) {
            theirs.text.push_str(line);
            theirs.text.push('\n');
        }
    }
    (conflicts > 0 && place == In::Both).then_some((ours, theirs))
}

/// What a mark calls its side.
fn label(line: &str) -> String {
    line.trim_start_matches(['<', '>']).trim().to_owned()
}

fn read(side: &Side) -> Option<State> {
    State::parse(&side.text).ok().filter(|state| state.twice().is_empty())
}

/// What each side has, one line each; nothing when there is no conflict.
pub(super) fn told_sides(text: &str) -> Vec<String> {
    let Some((ours, theirs)) = sides(text) else {
        let marked = text.contains("<<<<<<<") || text.contains(">>>>>>>");
        let why = "which side of the merge has what cannot be told: its marks are not as git writes them";
        return if marked { vec![why.to_owned()] } else { Vec::new() };
    };
    let line = |side: &Side| match read(side) {
        Some(state) => {
            let number = state.transition().map_or(String::new(), |number| format!(", transition {number}"));
            format!("the side `{}` has {}{number}", side.name, told(&state))
        }
        None => format!("the side `{}` cannot be read alone", side.name),
    };
    vec![line(&ours), line(&theirs)]
}

/// Takes the side that went further, and from the other one the routes and what their reports bear out.
pub(super) fn resolve(project: &Project, text: &str) -> Result<Option<(State, String)>, StateError> {
    let Some((ours, theirs)) = sides(text) else { return Ok(None) };
    let (mut state, name, other) = match (read(&ours), read(&theirs)) {
        (Some(a), Some(b)) => {
            let far = |state: &State| (state.transition(), state.counts().tested + state.counts().failed);
            if far(&b) > far(&a) { (b, theirs.name, Some(a)) } else { (a, ours.name, Some(b)) }
        }
        (Some(a), None) => (a, ours.name, None),
        (None, Some(b)) => (b, theirs.name, None),
        (None, None) => return Ok(None),
    };
    let mut action = format!("take the side `{name}` of the merge conflict");
    if let Some(other) = other {
        let routes: Vec<Route> = other.routes().cloned().collect();
        let added = state.add(&routes).changed.len();
        let mut completed = 0;
        for entry in &other.completed {
            let route = &entry.route;
            if state.place(route) != Some(Place::Pending) {
                continue;
            }
            let slug = state.slug(route);
            if let Ok(facts) = read_report(project, route, &slug, &project.report_path(&slug)) {
                state.drop_lease(route);
                state.complete(route, &facts, None, project.now())?;
                completed += 1;
            }
        }
        action.push_str(&format!(
            ", and from the other one {} that only it has and {} that it completed and whose report is there",
            crate::ui::counted(added, "route"),
            crate::ui::counted(completed, "route")
        ));
    }
    Ok(Some((state, action)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_of_a_conflict_is_read_and_told() {
        let text = "{\n  \"meta\": {},\n<<<<<<< HEAD\n  \"pending\": [\"/a\", \"/b\"]\n||||||| base\n  \"pending\": []\n=======\n  \"pending\": [\"/a\"]\n>>>>>>> feature\n}\n";
        assert_eq!(
            told_sides(text),
            [
                "the side `HEAD` has 0 completed, 0 failed, 2 pending",
                "the side `feature` has 0 completed, 0 failed, 1 pending"
            ]
        );
        assert!(sides("{}\n").is_none() && sides("<<<<<<< HEAD\n{}\n").is_none());
    }
}
