//! Taking the last transition back.
//!
//! Undo is a transition like any other. It touches nothing that changed since: what the transition left behind is compared
//! with what stands now. Reports are never deleted by it.

use serde::Serialize;

use super::entry::Completed;
use super::history::{Change, HistoryLine, Undo};
use super::{Project, StateError};
use crate::route::Route;
use crate::store::{self, FileKind};

/// What was taken back, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    /// Number of the transition.
    pub transition: u64,
    /// What it was.
    pub event: Change,
    /// Its routes.
    pub routes: Vec<Route>,
    /// Who had made it.
    pub by: String,
    /// Files that are put back, relative to the project.
    pub restored: Vec<String>,
    /// Whether it was done.
    pub done: bool,
}

/// The transition that an undo takes back: the last one that was not taken back. Heartbeats do not count.
fn target(lines: &[HistoryLine]) -> Option<&HistoryLine> {
    let undone: Vec<u64> = lines.iter().filter_map(|line| line.undid).collect();
    lines
        .iter()
        .rev()
        .filter(|line| !matches!(line.event, Change::Heartbeat | Change::Undo))
        .find(|line| !undone.contains(&line.seq))
}

impl Project {
    /// Takes the last transition back, or only says what it would do.
    ///
    /// # Errors
    /// [`StateError::CannotUndo`] with the reason; as [`Project::transact`].
    pub fn undo(&self, dry_run: bool) -> Result<Undone, StateError> {
        if dry_run {
            let known = self.last_known();
            let (mut state, digest) = self.parsed()?;
            self.refuse_older(&state, &digest, known)?;
            let (undone, _) = self.prepare(&mut state)?;
            return Ok(undone);
        }
        self.transact(|state, _| {
            let (mut undone, undo) = self.prepare(state)?;
            state.note(format!("took back {} (number {})", undone.event, undone.transition));
            state.journal.undid = Some(undone.transition);
            for file in undo.files.iter().filter(|file| undone.restored.contains(&file.was)) {
                store::copy_into(&self.root().join(&file.copy), &self.root().join(&file.was))?;
            }
            undone.done = true;
            Ok(undone)
        })
    }

    fn prepare(&self, state: &mut super::State) -> Result<(Undone, Undo), StateError> {
        let lines = self.history()?;
        let Some(line) = target(&lines) else {
            return Err(StateError::CannotUndo {
                what: "the last transition".into(),
                problem: "the history knows of none that was not taken back".into(),
            });
        };
        let what = format!("{} (number {}, by {})", line.event, line.seq, line.who.name());
        let refuse = |problem: String| Err(StateError::CannotUndo { what: what.clone(), problem });
        let Some(undo) = &line.undo else {
            return refuse(
                match line.event {
                    Change::Init => "it began the campaign",
                    Change::Repair => "the file that it repaired is kept beside the state",
                    Change::Compacted => "what came before is no longer in the history",
                    _ => "it touched too much to be kept in the history",
                }
                .into(),
            );
        };
        if lines.last().is_some_and(|last| state.transition().is_some_and(|number| number > last.seq)) {
            return refuse("a later transition did not reach the history".into());
        }
        if state.left(undo) != undo.left {
            return refuse("what it touched was changed since, by a heartbeat or by hand".into());
        }
        let mut restored = Vec::new();
        for file in &undo.files {
            let (was, copy) = (self.root().join(&file.was), self.root().join(&file.copy));
            match (store::exists(&was), store::exists(&copy)) {
                (FileKind::Missing, FileKind::File) => restored.push(file.was.clone()),
                (FileKind::File, FileKind::File) if store::read_bytes(&was)? == store::read_bytes(&copy)? => {}
                (FileKind::Missing, _) => return refuse(format!("the old file `{}` is gone", file.copy)),
                _ => return refuse(format!("a newer file stands at `{}`", file.was)),
            }
        }
        let routes: Vec<Route> = undo.routes.iter().map(|touched| touched.route.clone()).collect();
        state.begin(Change::Undo, &routes, None);
        state.take_back(undo).map_err(StateError::Argument)?;
        // A completed route that comes back needs its report.
        for touched in undo.routes.iter().filter(|touched| touched.list.as_deref() == Some("completed")) {
            let back = |entry: &&Completed| entry.route == touched.route;
            let file = state.completed.iter().find(back).and_then(|entry| entry.report_file.clone());
            if let Some(file) = file
                && !restored.contains(&file)
                && store::exists(&self.root().join(&file)) != FileKind::File
            {
                return refuse(format!("the report `{file}` of `{}` is gone", touched.route));
            }
        }
        let undone = Undone {
            transition: line.seq,
            event: line.event.clone(),
            routes,
            by: line.who.name(),
            restored,
            done: false,
        };
        Ok((undone, undo.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::history::Who;

    fn line(seq: u64, event: Change, undid: Option<u64>) -> HistoryLine {
        let at = chrono::DateTime::UNIX_EPOCH;
        let (who, routes) = (Who::default(), Vec::new());
        HistoryLine {
            seq,
            at,
            event,
            routes,
            detail: None,
            who,
            before: None,
            after: None,
            undid,
            ground: None,
            undo: None,
        }
    }

    #[test]
    fn heartbeats_and_what_was_taken_back_are_passed_over() {
        let mut lines =
            vec![line(1, Change::Init, None), line(2, Change::Claim, None), line(3, Change::Complete, None)];
        assert_eq!(target(&lines).map(|line| line.seq), Some(3));
        lines.push(line(4, Change::Heartbeat, None));
        lines.push(line(5, Change::Undo, Some(3)));
        assert_eq!(target(&lines).map(|line| line.seq), Some(2));
        lines.push(line(6, Change::Undo, Some(2)));
        assert_eq!(target(&lines).map(|line| line.seq), Some(1));
    }
}
