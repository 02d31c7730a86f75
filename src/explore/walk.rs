//! The walk: acts on every element of a level, depth-first, and on what each action makes appear.
//!
//! A level is a screen (address, what is open) with the steps that lead there. Before each action the walk makes sure
//! that it stands on the level again (`restore.rs`); after it, what appeared is the next level.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use super::choose::{Candidate, choose, closes, confirms, ends_session, reads_destructive};
use super::classify::{Outcome, classify, node_type};
use super::login::is_login_address;
use super::plan::Plan;
use super::record::{Place, Record};
use super::shots::{Section, shot_name};
use super::signature::{appeared, family, open_overlays, page_key, screen_key, shared_key, signature};
use crate::browser::{Element, Look, Mode, Note, Session, SessionError};
use crate::event::EventKind;
use crate::maze::{ActionResult, BugKind, Coverage, Node, NodeState, NodeType, OperationsCount};
use crate::replay::oracle::{self, Finding, Moment};
use crate::replay::{Action, Effect, Performed, Target, Terms, perform};
use crate::trace::Tool;

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
    pub(super) coverage: Coverage,
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
    seen: HashSet<String>,
    families: HashMap<String, u32>,
    screens: HashSet<String>,
    pages: HashSet<String>,
    actions: u32,
    stopped: Option<String>,
}

/// What came of visiting an element.
enum Visit {
    Done(Box<Node>),
    /// Something covers it; once more when the others are done.
    Later,
}

const FAMILY_CHAIN: usize = 3;
const FAMILY_TOTAL: u32 = 12;
const WIZARD_STEPS: usize = 8;

impl<'a> Walker<'a> {
    pub(super) fn new(plan: &'a Plan, session: Session, record: Record, look: Look, started: Instant) -> Self {
        Self {
            plan,
            session,
            record,
            look,
            coverage: Coverage::default(),
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
            screens: HashSet::new(),
            pages: HashSet::new(),
            actions: 0,
            stopped: None,
        }
    }

    pub(super) fn terms(&self) -> Terms {
        Terms {
            mode: Mode::Act { destructive: false },
            cap_ms: self.plan.settings.limits.settle_ms,
            nodes: u64::from(self.plan.settings.limits.page_nodes),
        }
    }

    /// Whether a limit of the route is reached.
    fn spent(&mut self) -> bool {
        if self.stopped.is_none() {
            let limits = &self.plan.settings.limits;
            let why = if self.actions >= limits.actions {
                Some(format!("{} actions", limits.actions))
            } else if self.started.elapsed().as_secs() >= limits.wall_time_s {
                Some(format!("{} s", limits.wall_time_s))
            } else if self.screens.len() >= limits.screens as usize {
                Some(format!("{} screens", limits.screens))
            } else {
                None
            };
            self.stopped = why.map(|why| format!("the limit of {why} was reached"));
            if let Some(why) = &self.stopped {
                self.limits.push(why.clone());
            }
        }
        self.stopped.is_some()
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
                Candidate { element: element.clone(), nth: *nth - 1, scroll, order, stands_for: 0, again: false }
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
        let fresh: Vec<Candidate> = found
            .into_iter()
            .filter(|candidate| {
                candidate.again || !self.seen.contains(&format!("{page}|{}", signature(&candidate.element, at)))
            })
            .collect();
        self.coverage.found += fresh.len() as u64;
        for candidate in &fresh {
            self.seen.insert(format!("{page}|{}", signature(&candidate.element, at)));
        }
        let (chosen, left_out) = choose(fresh);
        if left_out > 0 {
            *self.coverage.skipped.entry("equal to one that was acted on".to_owned()).or_default() += left_out as u64;
        }
        let mut nodes: Vec<(usize, Node)> = Vec::new();
        let mut queue: std::collections::VecDeque<(Candidate, bool)> =
            chosen.into_iter().map(|candidate| (candidate, true)).collect();
        let mut lost = 0;
        while let Some((candidate, first)) = queue.pop_front() {
            if self.spent() {
                let why = self.stopped.clone().unwrap_or_default();
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
            match Box::pin(self.visit(level, at, &candidate, first)).await {
                Ok(Visit::Later) => queue.push_back((candidate, false)),
                Ok(Visit::Done(node)) => {
                    let unreachable = node.skipped_reason.as_deref() == Some("its screen could not be reached again");
                    lost = if unreachable { lost + 1 } else { 0 };
                    self.emit(EventKind::NodeDone {
                        route: self.plan.route.to_string(),
                        path: level.labels.iter().cloned().chain([node.label.clone()]).collect(),
                        result: node.action_result.clone().unwrap_or(ActionResult::NoResponse),
                    });
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
    fn skipped(&mut self, level: &Level, candidate: &Candidate, reason: &str, key: Option<&str>) -> Node {
        *self.coverage.skipped.entry(key.unwrap_or(reason).to_owned()).or_default() += 1;
        let mut node = Self::node(level, candidate);
        node.action_result = Some(ActionResult::Skipped);
        node.skipped_reason = Some(reason.to_owned());
        node
    }

    fn node(level: &Level, candidate: &Candidate) -> Node {
        let element = &candidate.element;
        let alike = candidate.stands_for;
        Node {
            label: element.display_name(),
            node_type: node_type(element, level.opened_by.as_ref()),
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

    /// What keeps an element from being acted on.
    fn held_back(&mut self, level: &Level, candidate: &Candidate) -> Option<Node> {
        let element = &candidate.element;
        if let Some(key) = shared_key(element)
            && level.depth == 0
            && !element.disabled
            && let Some(other) = self.plan.shared.take(&key, self.plan.route.as_str())
        {
            let reason = format!("shared header or navigation, explored on {other}");
            return Some(self.skipped(
                level,
                candidate,
                &reason,
                Some("shared header or navigation, explored on another route"),
            ));
        }
        if self.plan.settings.safe_to_mutate {
            return None;
        }
        let refuse = |walker: &mut Self, why: &str| {
            walker.coverage.refused += 1;
            let mut node = Self::node(level, candidate);
            node.action_result = Some(ActionResult::Refused);
            node.note = Some(why.to_owned());
            Some(node)
        };
        if ends_session(element) {
            return refuse(self, "would end the session");
        }
        if level.opened_by == Some(ActionResult::ConfirmationDialog) && confirms(element) && is_button(element) {
            return refuse(self, "would confirm the question");
        }
        let scheme = element
            .raw_href
            .as_deref()
            .and_then(|href| href.split_once(':'))
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        if scheme.as_deref().is_some_and(|scheme| matches!(scheme, "mailto" | "tel" | "sms" | "intent" | "market")) {
            *self.coverage.skipped.entry("opens another program".to_owned()).or_default() += 1;
            let mut node = Self::node(level, candidate);
            node.action_result = Some(ActionResult::OutOfScope);
            node.note = Some("opens another program".to_owned());
            return Some(node);
        }
        None
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
        let own = family(&candidate.element);
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
        self.act(level, &element, labels, node, own, first).await
    }

    async fn act(
        &mut self,
        level: &Level,
        element: &Element,
        labels: Vec<String>,
        mut node: Node,
        own_family: String,
        first: bool,
    ) -> Result<Visit, SessionError> {
        let before = self.look.clone();
        let destructive = reads_destructive(element) && !self.plan.settings.safe_to_mutate;
        let terms = Terms { mode: Mode::Act { destructive }, ..self.terms() };
        let (action, tool) = action_for(element, self.plan.settings.safe_to_mutate);
        let started = self.plan.clock.now();
        let clock = Instant::now();
        let performed = perform(&self.session, &action, Target::Uid(element.uid), terms).await?;
        let mut effect = match performed {
            Performed::Done(effect) => *effect,
            Performed::Covered { .. } if first => return Ok(Visit::Later),
            Performed::Covered { by, .. } => {
                *self.coverage.skipped.entry("covered by something else".to_owned()).or_default() += 1;
                node.action_result = Some(ActionResult::Skipped);
                node.skipped_reason = Some(format!("covered by {by}"));
                node.screenshot = self.shoot(&shot_name(level.section, &labels, "-covered")).await;
                return Ok(Visit::Done(Box::new(node)));
            }
            Performed::Unreachable | Performed::Mismatch(_) => {
                *self.coverage.skipped.entry("has no visible point".to_owned()).or_default() += 1;
                node.action_result = Some(ActionResult::Skipped);
                node.skipped_reason = Some("has no visible point".to_owned());
                return Ok(Visit::Done(Box::new(node)));
            }
        };
        self.actions += 1;
        let tries_again = !effect.is_any() && may_be_dead(element, &before) && action == Action::Click;
        if tries_again
            && let Performed::Done(again) = perform(&self.session, &action, Target::Uid(element.uid), terms).await?
        {
            effect = *again;
        }
        let loading = if effect.hung.is_none() && effect.look.spinners > before.spinners {
            self.look = effect.look.clone();
            let finding = self.wait_for_loading(before.spinners).await?;
            effect.look = self.look.clone();
            finding
        } else {
            None
        };
        let in_menu = matches!(level.opened_by, Some(ActionResult::DropdownOpened | ActionResult::SubmenuOpened));
        let outcome = classify(element, &before, &effect, in_menu);
        let mut findings = self.judge(element, &before, &effect, &outcome);
        let dead = tries_again && !effect.is_any();
        if dead {
            findings.push(oracle::dead_control(&node.label));
        }
        findings.extend(loading.map(|finding| Finding { of_page: false, ..finding }));
        self.look = effect.look.clone();
        self.screens.insert(screen_key(&self.look));
        self.record.console_of(&effect.since);
        let step = self.record.step(
            tool,
            Some(element),
            match &action {
                Action::Fill(text) => Some(text.clone()),
                _ => None,
            },
            started,
            clock.elapsed().as_millis() as u64,
            (&before.url, &effect.look.url),
            &effect.since,
            outcome.result.to_string(),
            findings.first().map(|finding| finding.description.clone()),
        );
        let steps: Vec<u32> = level.steps.iter().copied().chain([step]).collect();
        node.trace_ref = self.record.node_path(&steps);
        node.duration_ms = Some(clock.elapsed().as_millis() as u64);
        node.requests = request_lines(&effect);
        if page_key(&before.url) != page_key(&effect.look.url) && effect.hung.is_none() {
            node.url_after = Some(effect.look.url.clone());
        }
        let suffix = if findings.is_empty() { "" } else { "-error" };
        node.screenshot = self.shot_of(&shot_name(level.section, &labels, suffix), &effect, &mut node).await;
        if let Some(file) = &node.screenshot {
            self.record.step_shot(step, file);
        }
        node.note = join_notes(node.note.take(), outcome.note.clone());
        if !effect.still.still && effect.hung.is_none() {
            let why = effect.still.reason.clone().unwrap_or_default();
            node.note = join_notes(node.note.take(), Some(format!("never still ({why})")));
        }
        let has_real_error = findings.iter().any(|finding| {
            !matches!(finding.kind, BugKind::DeadControl | BugKind::BrokenImage | BugKind::BrokenResource)
        });
        node.action_result = Some(
            if has_real_error
                && matches!(
                    outcome.result,
                    ActionResult::NoResponse | ActionResult::ContentChanged | ActionResult::PageNavigated
                )
            {
                ActionResult::Error
            } else {
                outcome.result.clone()
            },
        );
        // Refused is counted beside what passed or failed: the control was pressed, its work was stopped.
        if outcome.result == ActionResult::Refused && findings.is_empty() {
            self.coverage.refused += 1;
        } else {
            self.coverage.acted_on += 1;
            if findings.is_empty() {
                self.operations.passed += 1;
            } else {
                self.operations.failed += 1;
            }
        }
        let place = Place {
            route: self.plan.route.as_str(),
            labels: &labels,
            element: Some(element),
            url: &before.url,
            steps: &steps,
        };
        self.file(&findings, &place, node.screenshot.as_deref());
        if effect.hung.is_some() || effect.since.notes.iter().any(|note| matches!(note, Note::Crashed)) {
            self.renew(SessionError::Hung { url: before.url.clone(), message: "the page hangs or crashed".to_owned() })
                .await?;
            return Ok(Visit::Done(Box::new(node)));
        }
        self.after(level, &before, element, labels, steps, &outcome, own_family, &mut node, has_real_error).await?;
        Ok(Visit::Done(Box::new(node)))
    }

    /// Goes into what an action made appear.
    #[expect(clippy::too_many_arguments, reason = "the state of one visit")]
    async fn after(
        &mut self,
        level: &Level,
        before: &Look,
        element: &Element,
        labels: Vec<String>,
        steps: Vec<u32>,
        outcome: &Outcome,
        own_family: String,
        node: &mut Node,
        has_error: bool,
    ) -> Result<(), SessionError> {
        let look = self.look.clone();
        let navigated = outcome.result == ActionResult::PageNavigated;
        if navigated
            && level.section == Section::RowActions
            && level.depth == 0
            && self.detail.is_none()
            && !has_error
            && !reads_destructive(element)
        {
            match self.plan.route_at(&look.url) {
                Some(route) => {
                    node.note = join_notes(node.note.take(), Some(format!("the detail page is the route {route}")));
                }
                None if page_key(&look.url) != level.page => self.detail = Some(steps.clone()),
                None => {}
            }
        }
        let enters = match outcome.result {
            ActionResult::PageNavigated => {
                element.role != "link"
                    && !has_error
                    && element.row.is_none()
                    && self.plan.route_at(&look.url).is_none()
                    && page_key(&look.url) != level.page
                    && !same_page(before, &look)
                    && !is_login_address(&look.url)
                    && self.pages.insert(page_key(&look.url))
            }
            ActionResult::NewWindow
            | ActionResult::OutOfScope
            | ActionResult::DownloadStarted
            | ActionResult::FileChooser => false,
            _ => look.doc == before.doc,
        };
        if !enters {
            return Ok(());
        }
        let new = appeared(before, &look);
        let scroll = look.scroll_y;
        let steps_on = outcome.result == ActionResult::ContentChanged && node.node_type == NodeType::WizardStep;
        let found: Vec<Candidate> = Self::candidates(&look, scroll)
            .into_iter()
            .map(|candidate| Candidate {
                again: steps_on && candidate.element.role == element.role && candidate.element.name == element.name,
                ..candidate
            })
            .filter(|candidate| candidate.again || new.contains(&candidate.order))
            .filter(|candidate| !navigated || shared_key(&candidate.element).is_none())
            .collect();
        let opened_dialog = matches!(
            outcome.result,
            ActionResult::DialogOpened | ActionResult::ConfirmationDialog | ActionResult::WizardOpened
        ) && look.overlays.len() > before.overlays.len();
        let dialog =
            opened_dialog.then(|| look.overlays.last().map(|overlay| overlay.name.clone()).unwrap_or_default());
        if !found.is_empty() && level.depth + 1 >= self.plan.settings.limits.depth {
            self.limits.push(format!(
                "{} elements below {} lie deeper than {}",
                found.len(),
                labels.join(" > "),
                self.plan.settings.limits.depth
            ));
        } else if !found.is_empty() {
            let next = Level {
                page: page_key(&look.url),
                overlays: kinds(&look),
                steps: steps.clone(),
                labels: labels.clone(),
                section: level.section,
                depth: level.depth + 1,
                opened_by: Some(inherited(level, outcome)),
                families: level.families.iter().cloned().chain([own_family]).collect(),
            };
            node.children = Box::pin(self.walk(&next, &look, found)).await?;
        }
        if let Some(name) = dialog {
            self.leave_dialog(level, &steps, &labels, element, &name, &look).await?;
        }
        if outcome.result == ActionResult::ContentChanged {
            self.toggle_back(before, element).await?;
        }
        Ok(())
    }

    /// An action that took elements off the screen is undone by the same control, where that still stands there.
    async fn toggle_back(&mut self, before: &Look, element: &Element) -> Result<(), SessionError> {
        let is_toggle =
            !matches!(element.role.as_str(), "tab" | "link" | "radio" | "option") && element.input.is_none();
        let same = self.look.doc == before.doc && page_key(&self.look.url) == page_key(&before.url);
        if !is_toggle || !same || appeared(&self.look, before).is_empty() {
            return Ok(());
        }
        let still_there = self.look.elements.iter().any(|now| now.uid == element.uid && !now.disabled);
        if !still_there {
            return Ok(());
        }
        if let Performed::Done(effect) =
            perform(&self.session, &Action::Click, Target::Uid(element.uid), self.terms()).await?
            && effect.hung.is_none()
        {
            self.look = effect.look;
        }
        Ok(())
    }

    /// Closes a dialog that an action opened; one that stays open is a trap.
    async fn leave_dialog(
        &mut self,
        level: &Level,
        steps: &[u32],
        labels: &[String],
        element: &Element,
        name: &str,
        opened: &Look,
    ) -> Result<(), SessionError> {
        let same = self.look.doc == opened.doc && open_overlays(&self.look) == open_overlays(opened);
        if !same {
            return Ok(());
        }
        if self.close_extra(&level.overlays).await? {
            return Ok(());
        }
        let finding = oracle::focus_trap(name);
        self.record.fail_step(steps.last().copied().unwrap_or(0), &finding.description);
        let shot = self.shoot(&shot_name(level.section, labels, "-stuck-error")).await;
        if let Some(file) = &shot {
            self.extra_shots.push(file.clone());
        }
        let place = Place { route: self.plan.route.as_str(), labels, element: Some(element), url: &opened.url, steps };
        self.file(&[finding], &place, shot.as_deref());
        self.operations.passed = self.operations.passed.saturating_sub(1);
        self.operations.failed += 1;
        Ok(())
    }

    /// Files findings as bugs.
    pub(super) fn file(&mut self, findings: &[Finding], place: &Place<'_>, shot: Option<&str>) {
        for finding in findings {
            if self.record.bug(finding, place, shot)
                && let Some(bug) = self.record.bugs.last()
            {
                let bug = Box::new(bug.clone());
                self.emit(EventKind::BugFound { route: self.plan.route.to_string(), bug });
            }
        }
    }

    /// What of an action's evidence is a fault.
    fn judge(&mut self, element: &Element, before: &Look, effect: &Effect, outcome: &Outcome) -> Vec<Finding> {
        if let Some(message) = &effect.hung {
            return vec![oracle::hang(message)];
        }
        let judged = oracle::judge(&effect.since, self.session.policy(), Moment::Action);
        self.record.noise.extend(judged.noise);
        let stopped = effect.since.requests.iter().any(|request| request.refused.is_some() || request.out_of_scope);
        let loaded = before.doc != effect.look.doc;
        let mut findings = judged.findings;
        if loaded {
            // Another page: what is wrong inside it is its own route's matter. That it opens at all is the link's.
            let (kept, other): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| {
                finding.category == "navigation" && !finding.of_page || finding.kind == BugKind::Crash
            });
            findings = kept;
            self.record
                .noise
                .extend(other.into_iter().map(|finding| format!("on {}: {}", effect.look.url, finding.description)));
            let failed = findings.iter().any(|finding| finding.kind == BugKind::HttpError);
            // A link that says it leads to an error page may.
            let announced = element.name.to_lowercase().contains("error")
                || ["404", "500", "403", "503"].iter().any(|code| element.name.contains(code));
            if !stopped && !announced {
                findings.extend(
                    oracle::judge_page(&effect.look, failed)
                        .into_iter()
                        .map(|finding| Finding { of_page: false, ..finding }),
                );
            }
            let bounced = self.logged_in
                && effect.look.passwords == 1
                && before.passwords == 0
                && is_login_address(&effect.look.url)
                && outcome.result == ActionResult::PageNavigated;
            if bounced {
                findings.push(oracle::login_redirect(&effect.look.url));
            }
        } else if !stopped {
            findings.extend(oracle::judge_toasts(before, &effect.look));
        }
        findings
    }

    async fn shot_of(&mut self, name: &str, effect: &Effect, node: &mut Node) -> Option<String> {
        if effect.hung.is_some() {
            return None;
        }
        let window = effect.since.notes.iter().find_map(|note| match note {
            Note::Window { session, .. } => Some(session.clone()),
            _ => None,
        });
        let Some(window) = window else { return self.shoot(name).await };
        // A new window: look at it, keep its picture, close it.
        let mark = self.session.evidence().mark();
        let _ = self.session.window_still(&window, mark, self.terms().cap_ms).await;
        let seen = self.session.look_at_window(&window, self.terms().nodes).await;
        let png = self.session.screenshot_of(&window).await;
        if let Ok(look) = seen
            && !look.url.is_empty()
            && look.url != "about:blank"
        {
            node.url_after = Some(look.url.clone());
            node.note = join_notes(node.note.take(), Some(format!("window \"{}\"", look.title)));
        }
        let _ = self.session.close_other_windows().await;
        let file = png.ok().and_then(|png| self.record.shot(name, &png).ok());
        match file {
            Some(file) => Some(file),
            None => self.shoot(name).await,
        }
    }
}

/// Whether an address differs only by its query, and the page says the same of itself: a list sorted or filtered.
fn same_page(one: &Look, other: &Look) -> bool {
    let path = |look: &Look| url::Url::parse(&look.url).map(|url| url.path().to_owned()).unwrap_or_default();
    path(one) == path(other) && one.title == other.title && one.heading == other.heading
}

fn is_button(element: &Element) -> bool {
    !element.is_text_field()
        && element.input.as_deref().is_none_or(|kind| matches!(kind, "submit" | "button" | "image"))
}

/// Opened-by is kept through the steps of a wizard.
fn inherited(level: &Level, outcome: &Outcome) -> ActionResult {
    let within =
        matches!(level.opened_by, Some(ActionResult::WizardOpened)) && outcome.result == ActionResult::ContentChanged;
    if within { ActionResult::WizardOpened } else { outcome.result.clone() }
}

/// A plausible text for a field, by its type and name. Used only where changing data is allowed.
fn plausible(element: &Element) -> String {
    let name = element.name.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match element.input.as_deref() {
        Some("email") => "tester@example.com",
        Some("tel") => "+15550100",
        Some("url") => "https://example.com/",
        Some("number") => "7",
        Some("password") => "Test-pass-1",
        _ if element.role == "spinbutton" || says(&["amount", "quantity", "price", "count"]) => "7",
        _ if says(&["mail"]) => "tester@example.com",
        _ if says(&["phone", "mobile"]) => "+15550100",
        _ if says(&["postcode", "zip"]) => "10115",
        _ => "Test entry",
    }
    .to_owned()
}

fn action_for(element: &Element, fills: bool) -> (Action, Tool) {
    let chooser = element.tag == "select"
        || matches!(element.input.as_deref(), Some("color" | "date" | "time" | "month" | "week" | "datetime-local"));
    if fills && element.is_text_field() && !element.readonly && !chooser {
        (Action::Fill(plausible(element)), Tool::Fill)
    } else if element.why == "hover" {
        (Action::Hover, Tool::Hover)
    } else if chooser {
        (Action::Focus, Tool::Select)
    } else {
        (Action::Click, Tool::Click)
    }
}

/// Whether an element without any effect would be a fault.
fn may_be_dead(element: &Element, look: &Look) -> bool {
    let to_itself = element.raw_href.as_deref().is_some_and(|href| {
        href.is_empty()
            || href.starts_with('#')
            || href.to_ascii_lowercase().starts_with("javascript:")
            || element.href.as_deref().is_some_and(|href| page_key(href) == page_key(&look.url))
    });
    let real = matches!(element.why.as_str(), "native" | "role" | "link");
    let button = matches!(element.role.as_str(), "button" | "link" | "tab" | "menuitem" | "switch");
    let exempt = element.selected
        || element.checked
        || element.submits
        || element.download
        || element.field
        || element.input.as_deref().is_some_and(|kind| kind != "button")
        || element.kind.as_deref() == Some("reset")
        || element.tag == "summary"
        || closes(element)
        || matches!(element.name.to_lowercase().trim(), "times" | "close" | "x" | "×");
    real && button && !to_itself && !exempt
}

fn join_notes(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    }
}

fn request_lines(effect: &Effect) -> Vec<String> {
    effect
        .since
        .requests
        .iter()
        .filter(|request| matches!(request.kind.as_str(), "Document" | "XHR" | "Fetch" | "Ping"))
        .take(12)
        .map(|request| {
            let end = match (request.refused, request.out_of_scope, request.status) {
                (Some(_), _, _) | (_, true, _) => "refused".to_owned(),
                (_, _, Some(status)) => status.to_string(),
                _ => request.error.clone().unwrap_or_else(|| "no answer".to_owned()),
            };
            let path = url::Url::parse(&request.url).map_or_else(
                |_| request.url.clone(),
                |url| {
                    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
                    format!("{}{query}", url.path())
                },
            );
            format!("{} {path} -> {end}", request.method)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: &str, name: &str) -> Element {
        Element { input: Some(kind.into()), role: "textbox".into(), name: name.into(), ..Element::default() }
    }

    #[test]
    fn a_field_is_filled_only_where_changing_data_is_allowed() {
        assert_eq!(action_for(&field("text", "Name"), false), (Action::Click, Tool::Click));
        assert_eq!(action_for(&field("text", "Name"), true), (Action::Fill("Test entry".into()), Tool::Fill));
        assert_eq!(
            action_for(&field("email", "Where to"), true),
            (Action::Fill("tester@example.com".into()), Tool::Fill)
        );
        assert_eq!(action_for(&Element { readonly: true, ..field("text", "Id") }, true), (Action::Click, Tool::Click));
    }

    #[test]
    fn a_chooser_is_focused_and_never_opened_natively() {
        assert_eq!(action_for(&field("date", "Day"), false), (Action::Focus, Tool::Select));
        assert_eq!(action_for(&field("date", "Day"), true), (Action::Focus, Tool::Select));
    }

    #[test]
    fn links_to_the_page_itself_and_chosen_tabs_are_never_dead() {
        let look = Look { url: "http://a.b/x".into(), ..Look::default() };
        let link = Element { why: "link".into(), role: "link".into(), overlay: -1, ..Element::default() };
        let to =
            |href: &str, full: &str| Element { raw_href: Some(href.into()), href: Some(full.into()), ..link.clone() };
        assert!(may_be_dead(&to("/y", "http://a.b/y"), &look));
        assert!(!may_be_dead(&to("#", "http://a.b/x#"), &look));
        assert!(!may_be_dead(&to("/x", "http://a.b/x"), &look));
        assert!(!may_be_dead(&Element { selected: true, ..to("/y", "http://a.b/y") }, &look));
        assert!(!may_be_dead(&Element { field: true, ..to("/y", "http://a.b/y") }, &look));
    }
}
