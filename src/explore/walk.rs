//! The walk: acts on every element of a level, depth-first, and on what each action makes appear.
//!
//! A level is a screen (address, what is open) with the steps that lead there. Before each action the walk makes sure
//! that it stands on the level again (`restore.rs`); after it, what appeared is the next level.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Instant;

use super::checkpoint::branch_key;
use super::choose::{Candidate, choose, with_ways};
use super::classify::node_type;
use super::gesture::Way;
use super::plan::Plan;
use super::record::Record;
use super::shots::{Section, shot_name};
use super::signature::signature;
use crate::browser::{CodeUse, Look, Session, SessionError, Tally};
use crate::event::EventKind;
use crate::maze::{ActionResult, Coverage, Node, NodeState, NodeType, OperationsCount};
use crate::replay::Terms;
use crate::trace::page_key;

/// A screen, and how it is reached.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// Page key.
    pub(super) page: String,
    /// Kinds of what is open, outermost first.
    pub(super) overlays: Vec<String>,
    /// Steps that lead here.
    pub(super) steps: Vec<u32>,
    /// Labels that lead here.
    pub(super) labels: Vec<String>,
    /// Part of the report.
    pub(super) section: Section,
    /// How many actions deep.
    pub(super) depth: u32,
    /// What opened it.
    pub(super) opened_by: Option<ActionResult>,
    /// Families of the elements that lead here.
    pub(super) families: Vec<String>,
}

impl Level {
    /// The level of a screen.
    pub(super) fn of(look: &Look, steps: Vec<u32>, section: Section) -> Self {
        Self {
            page: page_key(&look.url),
            overlays: kinds(look),
            steps,
            labels: Vec::new(),
            section,
            depth: 0,
            opened_by: None,
            families: Vec::new(),
        }
    }
}

/// Kinds of what is open, outermost first.
pub(super) fn kinds(look: &Look) -> Vec<String> {
    look.overlays.iter().map(|overlay| overlay.kind.clone()).collect()
}

/// The walker of one route.
pub(super) struct Walker<'a> {
    pub(super) plan: &'a Plan,
    pub(super) session: Session,
    pub(super) record: Record,
    /// The screen now.
    pub(super) look: Look,
    /// Key of the page that the route opens.
    pub(super) page: String,
    pub(super) coverage: Coverage,
    /// The application's code that ran so far.
    pub(super) code: CodeUse,
    /// Something was done since it was noted.
    pub(super) code_due: bool,
    pub(super) operations: OperationsCount,
    pub(super) limits: Vec<String>,
    /// Screenshots that belong to no node.
    pub(super) extra_shots: Vec<String>,
    pub(super) logged_in: bool,
    pub(super) renewals: u32,
    /// What the page kept in its storage when it was opened.
    pub(super) storage: Option<serde_json::Value>,
    /// The way to the detail page, once the first row has led there.
    pub(super) detail: Option<Vec<u32>>,
    pub(super) started: Instant,
    pub(super) seen: HashSet<String>,
    pub(super) families: HashMap<String, u32>,
    /// Branches that are finished, also by an exploration that was cut off.
    pub(super) branches: BTreeMap<String, Node>,
    /// Sections whose elements are counted.
    pub(super) sections: BTreeSet<String>,
    /// Those of an exploration that was cut off, which this one goes on with.
    pub(super) taken_up: BTreeSet<String>,
    /// When the branches were last written down.
    pub(super) written: Option<Instant>,
    pub(super) screens: HashSet<String>,
    pub(super) pages: HashSet<String>,
    /// What lay above a control and was tried to be got rid of by opening the page anew.
    pub(super) covers: HashSet<String>,
    pub(super) actions: u32,
    /// The screen that the last action was done on, and what its page had counted by then.
    pub(super) left: Option<(Look, Tally)>,
    /// Elements that wait on the screens above the one that is being walked.
    pub(super) waiting: usize,
    /// Those of them that come in a later section of the route's own screen.
    pub(super) later: usize,
    stopped: Option<String>,
}

/// What came of visiting an element.
pub(super) enum Visit {
    Done(Box<Node>),
    /// Something covers it; once more when the others are done.
    Later,
}

/// What an action is thought to take at most when time is kept for it.
const SLOW_ACTION_MS: u64 = 10_000;
const FAMILY_CHAIN: usize = 3;
const FAMILY_TOTAL: u32 = 12;
const WIZARD_STEPS: usize = 8;

impl<'a> Walker<'a> {
    pub(super) fn new(plan: &'a Plan, session: Session, record: Record, look: Look, started: Instant) -> Self {
        Self {
            plan,
            session,
            record,
            page: page_key(&look.url),
            look,
            coverage: Coverage::default(),
            code: CodeUse::default(),
            code_due: false,
            operations: OperationsCount::default(),
            limits: Vec::new(),
            extra_shots: Vec::new(),
            logged_in: false,
            renewals: 0,
            storage: None,
            detail: None,
            started,
            seen: HashSet::new(),
            families: HashMap::new(),
            branches: BTreeMap::new(),
            sections: BTreeSet::new(),
            taken_up: BTreeSet::new(),
            written: None,
            screens: HashSet::new(),
            pages: HashSet::new(),
            covers: HashSet::new(),
            actions: 0,
            left: None,
            waiting: 0,
            later: 0,
            stopped: None,
        }
    }

    pub(super) fn terms(&self) -> Terms {
        self.plan.stage.terms()
    }

    /// Why nothing more is acted on at a level below which so many elements still wait on the screens above: a limit of the
    /// route is reached, or what is left of it is kept for them. At most half of a limit is kept, so that there is depth
    /// where a screen alone holds more than the limit.
    fn spent(&mut self, above: usize) -> Option<String> {
        if self.stopped.is_some() {
            return self.stopped.clone();
        }
        let limits = &self.plan.stage.settings.limits;
        let above = u64::try_from(above).unwrap_or(u64::MAX);
        let took = self.started.elapsed().as_millis() as u64;
        let each = (took / u64::from(self.actions.max(1))).min(SLOW_ACTION_MS);
        let all = [
            (u64::from(limits.actions), u64::from(self.actions), above, format!("{} actions", limits.actions)),
            (limits.wall_time_s * 1000, took, above.saturating_mul(each), format!("{} s", limits.wall_time_s)),
            (u64::from(limits.screens), self.screens.len() as u64, above, format!("{} screens", limits.screens)),
        ];
        if let Some((.., what)) = all.iter().find(|(most, used, ..)| used >= most) {
            let why = format!("the limit of {what} was reached");
            self.limits.push(why.clone());
            self.stopped = Some(why.clone());
            return Some(why);
        }
        let (.., what) = all.iter().find(|(most, used, kept, _)| most - used <= (*kept).min(most / 2))?;
        let why = format!("the rest of the limit of {what} is kept for the screens above");
        if !self.limits.contains(&why) {
            self.limits.push(why.clone());
        }
        Some(why)
    }

    pub(super) fn emit(&self, kind: EventKind) {
        self.plan.events.emit(self.plan.clock.now(), kind);
    }

    /// Elements of a look as candidates, in document order.
    pub(super) fn candidates(look: &Look, scroll: i64) -> Vec<Candidate> {
        let mut times: HashMap<String, usize> = HashMap::new();
        look.elements
            .iter()
            .enumerate()
            .map(|(order, element)| {
                let nth = times.entry(signature(element, look)).or_default();
                *nth += 1;
                Candidate {
                    element: element.clone(),
                    nth: *nth - 1,
                    scroll,
                    order,
                    stands_for: 0,
                    again: false,
                    way: Way::Usual,
                }
            })
            .collect()
    }

    /// Acts on every candidate of a level; gives back the nodes in the order of the document.
    pub(super) async fn walk(
        &mut self,
        level: &Level,
        at: &Look,
        found: Vec<Candidate>,
    ) -> Result<Vec<Node>, SessionError> {
        // The same element met again on the way is not explored again.
        let page = level.page.clone();
        let part = (level.depth == 0).then(|| format!("{:?}", level.section));
        // Where an exploration was cut off in this section, its elements are counted already.
        let counted = part.as_ref().is_some_and(|part| self.taken_up.contains(part));
        let fresh: Vec<Candidate> = found
            .into_iter()
            .filter(|candidate| {
                let key = format!("{page}|{}", signature(&candidate.element, at));
                candidate.again || counted || !self.seen.contains(&key)
            })
            .collect();
        for candidate in &fresh {
            if self.seen.insert(format!("{page}|{}", signature(&candidate.element, at))) || !counted {
                self.coverage.found += 1;
            }
        }
        let (chosen, left_out) = choose(fresh);
        if left_out > 0 && !counted {
            *self.coverage.skipped.entry("equal to one that was acted on".to_owned()).or_default() += left_out as u64;
        }
        let kept = chosen.len();
        let chosen = with_ways(chosen);
        if !counted {
            self.coverage.found += (chosen.len() - kept) as u64;
        }
        self.sections.extend(part.clone());
        let mut nodes: Vec<(usize, Node)> = Vec::new();
        let mut queue: std::collections::VecDeque<(Candidate, bool)> =
            chosen.into_iter().map(|candidate| (candidate, true)).collect();
        let mut lost = 0;
        // For the elements of the route's own screen nothing is kept.
        let (above, others) = if level.depth == 0 { (0, self.later) } else { (self.waiting, self.waiting) };
        while let Some((candidate, first)) = queue.pop_front() {
            let branch =
                part.as_ref().map(|_| branch_key(level.section, &candidate, &signature(&candidate.element, at)));
            if let Some(node) = branch.as_ref().and_then(|key| self.branches.get(key)) {
                nodes.push((candidate.order, node.clone()));
                continue;
            }
            if let Some(why) = self.spent(above) {
                nodes.push((candidate.order, self.skipped(level, &candidate, &why, None)));
                continue;
            }
            if lost >= 4 {
                nodes.push((
                    candidate.order,
                    self.skipped(level, &candidate, "its screen could not be reached again", None),
                ));
                continue;
            }
            self.waiting = others + queue.len();
            let visited = Box::pin(self.visit(level, at, &candidate, first)).await;
            self.waiting = others;
            match visited {
                Ok(Visit::Later) => queue.push_back((candidate, false)),
                Ok(Visit::Done(node)) => {
                    let unreachable = node.skipped_reason.as_deref() == Some("its screen could not be reached again");
                    lost = if unreachable { lost + 1 } else { 0 };
                    self.emit(EventKind::NodeDone {
                        route: self.plan.route.to_string(),
                        path: level.labels.iter().cloned().chain([node.label.clone()]).collect(),
                        result: node.action_result.clone().unwrap_or(ActionResult::NoResponse),
                    });
                    if let Some(key) = branch {
                        self.finish_branch(key, &node);
                    }
                    nodes.push((candidate.order, *node));
                }
                Err(error) => {
                    let text = error.to_string();
                    self.renew(error).await?;
                    let mut node = self.skipped(level, &candidate, "the browser was lost while it was acted on", None);
                    node.note = Some(text);
                    nodes.push((candidate.order, node));
                }
            }
        }
        nodes.sort_by_key(|(order, _)| *order);
        Ok(nodes.into_iter().map(|(_, node)| node).collect())
    }

    /// A node that was not acted on.
    pub(super) fn skipped(&mut self, level: &Level, candidate: &Candidate, reason: &str, key: Option<&str>) -> Node {
        *self.coverage.skipped.entry(key.unwrap_or(reason).to_owned()).or_default() += 1;
        let mut node = Self::node(level, candidate);
        node.action_result = Some(ActionResult::Skipped);
        node.skipped_reason = Some(reason.to_owned());
        node
    }

    pub(super) fn node(level: &Level, candidate: &Candidate) -> Node {
        let element = &candidate.element;
        let alike = candidate.stands_for;
        Node {
            label: candidate.way.label(element),
            node_type: match candidate.way {
                Way::Option(_) => NodeType::DropdownItem,
                _ => node_type(element, level.opened_by.as_ref()),
            },
            state: Some(if element.disabled { NodeState::Disabled } else { NodeState::Enabled }),
            action_result: None,
            screenshot: None,
            note: (alike > 0).then(|| format!("stands for {alike} more like it")),
            role: Some(element.role.clone()),
            locator: Some(element.locator()),
            trace_ref: None,
            duration_ms: None,
            requests: Vec::new(),
            url_after: None,
            skipped_reason: None,
            children: Vec::new(),
        }
    }

    pub(super) async fn shoot(&mut self, name: &str) -> Option<String> {
        let png = self.session.screenshot().await.ok()?;
        match self.record.shot(name, &png) {
            Ok(file) => Some(file),
            Err(error) => {
                self.emit(EventKind::Warned { text: error.to_string() });
                None
            }
        }
    }

    /// Notes which code ran, before its page may be left for good.
    pub(super) async fn note_code(&mut self, shown: &str) {
        let on_page = self.page == page_key(shown);
        self.code_due = false;
        if let Ok(ran) = self.session.code_that_ran().await {
            self.code.add(ran, on_page);
        }
    }

    /// Notes which code ran if anything was done since it was last noted: asking takes as long as a look.
    pub(super) async fn note_code_if_due(&mut self) {
        if self.code_due {
            let shown = self.look.url.clone();
            self.note_code(&shown).await;
        }
    }

    async fn visit(
        &mut self,
        level: &Level,
        at: &Look,
        candidate: &Candidate,
        first: bool,
    ) -> Result<Visit, SessionError> {
        if let Some(mut node) = self.held_back(level, candidate) {
            if node.action_result == Some(ActionResult::Refused) {
                let labels: Vec<String> = level.labels.iter().cloned().chain([node.label.clone()]).collect();
                if self.ensure(level, at, candidate).await?.is_some() {
                    node.screenshot = self.shoot(&shot_name(level.section, &labels, "-refused")).await;
                }
            }
            return Ok(Visit::Done(Box::new(node)));
        }
        let own = candidate.family();
        let chain = level.families.iter().filter(|family| **family == own).count();
        let total = self.families.entry(own.clone()).or_default();
        if chain >= (if candidate.again { WIZARD_STEPS } else { FAMILY_CHAIN }) || *total >= FAMILY_TOTAL {
            let label = candidate.element.display_name();
            let note = format!(
                "more like \"{label}\" were left out: their kind was cut off after {} of them",
                (*total).max(FAMILY_CHAIN as u32)
            );
            if !self.limits.iter().any(|known| known == &note) && self.limits.len() < 40 {
                self.limits.push(note);
            }
            return Ok(Visit::Done(Box::new(self.skipped(level, candidate, "more of a kind that was cut off", None))));
        }
        *total += 1;
        let Some(element) = self.ensure(level, at, candidate).await? else {
            return Ok(Visit::Done(Box::new(self.skipped(
                level,
                candidate,
                "its screen could not be reached again",
                None,
            ))));
        };
        let mut node = Self::node(level, candidate);
        let labels: Vec<String> = level.labels.iter().cloned().chain([node.label.clone()]).collect();
        // What was disabled when it was seen may have become usable on the way.
        node.state = Some(NodeState::Enabled);
        if element.disabled {
            self.coverage.disabled += 1;
            self.operations.disabled += 1;
            node.state = Some(NodeState::Disabled);
            node.action_result = Some(ActionResult::NotClickable);
            node.note = Some("disabled, could not be used".to_owned());
            node.screenshot = self.shoot(&shot_name(level.section, &labels, "-disabled")).await;
            return Ok(Visit::Done(Box::new(node)));
        }
        // What ran on a page goes with it.
        if element.role == "link" || element.submits {
            self.note_code_if_due().await;
        }
        let visited = self.act(level, candidate, &element, labels, node, first).await?;
        self.code_due = true;
        Ok(visited)
    }
}
