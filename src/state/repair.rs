//! Repairs: what is found is put right, or only told. The old file is kept beside the new one.

use super::age::Age;
use super::check::{Repair, older};
use super::entry::{Entry, Pending, ReviewStatus};
use super::history::Change;
use super::model::State;
use super::project::Project;
use super::{StateError, rebuild, replay};
use crate::route::Route;
use crate::store;

impl Project {
    /// Repairs the state, or only says what it would do. The old file is kept beside it.
    ///
    /// # Errors
    /// When there is nothing to rebuild from, the state is of a newer program, or the disk fails.
    pub fn repair(&self, dry_run: bool) -> Result<Repair, StateError> {
        // A dry run writes nothing, not even the lock file.
        let _lock = if dry_run { None } else { Some(self.lock()?) };
        let known = self.last_known();
        let (mut state, mut repair) = match self.parsed() {
            Ok((state, text)) => match self.age(&state, &text, known) {
                Some(age) => self.brought_forward(state, &age)?,
                None => self.repaired(state)?,
            },
            Err(StateError::Broken { problem, .. }) => match rebuild::mend(self, &problem) {
                Some((state, finding, action)) => {
                    let (state, mut repair) = self.repaired(state)?;
                    repair.findings.insert(0, finding);
                    repair.actions.insert(0, action);
                    (state, repair)
                }
                None => self.rebuilt(Some(problem))?,
            },
            Err(StateError::NoState { .. }) => self.rebuilt(None)?,
            // A directory, a pipe, a huge file or a link is nothing of ours to move.
            Err(error) => return Err(error),
        };
        if dry_run || repair.actions.is_empty() {
            return Ok(repair);
        }
        let now = self.now();
        let mut before = None;
        if self.has_state() {
            let copy = self.dated_copy(now);
            store::copy_into(&self.state_path(), &copy)?;
            repair.kept = Some(self.relative(&copy));
            before = self.read_text().ok().flatten().map(|text| store::quick_digest(&[text.as_bytes()]));
        }
        state.changed = true;
        state.begin(Change::Repair, &[], None);
        state.note(repair.actions.join("; "));
        self.write(state, before, now)?;
        repair.done = true;
        Ok(repair)
    }

    /// A rebuilt state, with what is still wrong with it put right.
    fn rebuilt(&self, problem: Option<String>) -> Result<(State, Repair), StateError> {
        let (state, first) = rebuild::rebuild(self, problem)?;
        self.also(first, state)
    }

    /// An older state, brought forward by what the copy in the git directory and the history tell.
    fn brought_forward(&self, state: State, age: &Age) -> Result<(State, Repair), StateError> {
        self.refuse_newer(&state)?;
        let mut first = Repair { findings: vec![older(age)], ..Repair::default() };
        let (mut base, action) = match replay::from_copy(self) {
            Some((copy, action)) if copy.transition().unwrap_or(0) > age.has => (copy, action),
            _ => match replay::began_since(self, age.has)? {
                Some(begun) => begun,
                None => (state, format!("take the state as it is, of transition {}", age.has)),
            },
        };
        first.actions.push(action);
        let from = base.transition().unwrap_or(age.has);
        let replayed = replay::replay(self, &mut base, from)?;
        first.actions.extend(replayed.actions);
        first.unknown.extend(replayed.unknown);
        if replayed.last < age.known.seq {
            first.unknown.push(format!(
                "what transitions {} to {} did: the history does not have them",
                replayed.last + 1,
                age.known.seq
            ));
        }
        self.also(first, base)
    }

    fn also(&self, mut first: Repair, state: State) -> Result<(State, Repair), StateError> {
        let (state, more) = self.repaired(state)?;
        // Counters and times are written right in any case: of a state that is built here they say nothing.
        let matters = |code: &str| !matches!(code, "counters" | "last_updated");
        let more_actions = more.findings.iter().filter(|finding| matters(finding.code));
        for finding in more_actions {
            if let Some(repair) = &finding.repair {
                first.actions.push(format!("{}: {repair}", finding.message));
            }
            first.findings.push(finding.clone());
        }
        Ok((state, first))
    }

    fn repaired(&self, mut state: State) -> Result<(State, Repair), StateError> {
        self.refuse_newer(&state)?;
        let findings = self.findings(&state)?;
        let mut actions = Vec::new();
        for finding in &findings {
            if let Some(repair) = &finding.repair {
                actions.push(format!("{}: {repair}", finding.message));
            }
        }
        for (route, _) in state.twice() {
            let keep = self.keeper(&state, &route);
            let mut seen = false;
            let mut first = |list: &str, entry: &Route| {
                if *entry != route {
                    return true;
                }
                let stays = list == keep && !seen;
                seen = seen || stays;
                stays
            };
            state.completed.retain(|entry| first("completed", &entry.route));
            state.failed.retain(|entry| first("failed", &entry.route));
            state.pending.retain(|entry| first("pending", &entry.route));
        }
        for finding in &findings {
            let Some(route) = &finding.route else { continue };
            match finding.code {
                "report" | "slug" => {
                    if let Some(place) = state.completed.iter().position(|entry| entry.route == *route) {
                        let entry = state.completed.remove(place);
                        state.edit_attempts(route, |object| object.set_text("completed", entry.text().to_owned()));
                        state.pending.push(Pending::new(entry.route));
                    }
                }
                "review_status" | "bug_report" => state.edit_completed(route, |object| {
                    object.set("review_status", &ReviewStatus::Pending);
                    object.set("bug_report_file", &());
                }),
                _ => {}
            }
        }
        Ok((state, Repair { findings, actions, ..Repair::default() }))
    }
}
