//! One action, from the input event to the node: what came of it, what was wrong, what it made appear, and out again.

use std::time::Instant;

use super::approach::{action_for, may_be_dead};
use super::choose::Candidate;
use super::classify::{Outcome, classify};
use super::gesture::Way;
use super::options::takes_options;
use super::record::Place;
use super::shots::{Section, shot_name};
use super::signature::{appeared, open_overlays, screen_key, shared_key};
use super::walk::{Level, Visit, Walker, kinds};
use crate::browser::{Element, Look, Mode, Note, SessionError};
use crate::event::EventKind;
use crate::maze::{ActionResult, BugKind, Node, NodeType};
use crate::replay::oracle::{self, Finding, Moment};
use crate::replay::{Action, Effect, Performed, Target, Terms, is_login_address, perform, reads_destructive};
use crate::trace::page_key;

impl Walker<'_> {
    pub(super) async fn act(
        &mut self,
        level: &Level,
        candidate: &Candidate,
        element: &Element,
        labels: Vec<String>,
        mut node: Node,
        first: bool,
    ) -> Result<Visit, SessionError> {
        let before = self.look.clone();
        let destructive = reads_destructive(element) && !self.plan.stage.settings.safe_to_mutate;
        // What a link leads to is not gone into.
        let terms = Terms { mode: Mode::Act { destructive }, passing: element.role == "link", ..self.terms() };
        let (action, tool) = action_for(element, &candidate.way, self.plan.stage.settings.safe_to_mutate);
        let started = self.plan.clock.now();
        let clock = Instant::now();
        let performed = perform(&self.session, &action, Target::Uid(element.uid), terms).await?;
        let mut effect = match performed {
            Performed::Done(effect) => *effect,
            Performed::Covered { .. } if first => return Ok(Visit::Later),
            // What lies above it may have been put there on the way: a card that was maximised, a banner. Once for each.
            Performed::Covered { ref by, .. } if self.covers.insert(by.clone()) && self.replay(level).await? => {
                return Ok(Visit::Later);
            }
            Performed::Covered { by, .. } => {
                *self.coverage.skipped.entry("covered by something else".to_owned()).or_default() += 1;
                node.action_result = Some(ActionResult::Skipped);
                node.skipped_reason = Some(format!("covered by {by}"));
                node.screenshot = self.shoot(&shot_name(level.section, &labels, "-covered")).await;
                return Ok(Visit::Done(Box::new(node)));
            }
            Performed::Unreachable | Performed::Mismatch(_) | Performed::Disabled | Performed::Refused(_) => {
                *self.coverage.skipped.entry("has no visible point".to_owned()).or_default() += 1;
                node.action_result = Some(ActionResult::Skipped);
                node.skipped_reason = Some("has no visible point".to_owned());
                return Ok(Visit::Done(Box::new(node)));
            }
        };
        self.actions += 1;
        self.left = Some((before.clone(), effect.before.clone()));
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
        let outcome = classify(&candidate.way.part(element), &before, &effect, in_menu);
        let (mut findings, mut aside) = self.judge(element, &before, &effect, &outcome);
        let dead = tries_again && !effect.is_any();
        if dead {
            findings.push(oracle::dead_control(&node.label));
        }
        match loading {
            // Another page that loads for ever is its own route's matter.
            Some(finding) if before.doc != effect.look.doc => aside.push(finding),
            loading => findings.extend(loading.map(|finding| Finding { of_page: false, ..finding })),
        }
        if effect.look.doc != before.doc {
            self.note_code(&effect.look.url).await;
        }
        self.look = effect.look.clone();
        self.screens.insert(screen_key(&self.look));
        self.record.console_of(&effect.since);
        let step = self.record.step(
            tool,
            Some(element),
            match &action {
                Action::Fill(text) | Action::Choose(text) => Some(text.clone()),
                Action::Press(_) => Some("Enter".to_owned()),
                _ => None,
            },
            started,
            clock.elapsed().as_millis() as u64,
            (&before.url, &effect.look.url),
            &effect.since,
            outcome.result.to_string(),
            findings.first().map(|finding| finding.description.clone()),
        );
        self.record.set_aside(step, &effect.look.url, aside);
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
        if effect.hung.is_some() || effect.since.notes.iter().any(|note| matches!(note, Note::Crashed | Note::Lost)) {
            self.renew(SessionError::Hung { url: before.url.clone(), message: "the page hangs or crashed".to_owned() })
                .await?;
            return Ok(Visit::Done(Box::new(node)));
        }
        if candidate.way == Way::Usual && takes_options(element, self.plan.stage.settings.safe_to_mutate) {
            node.children = self.options(level, &before, candidate, element, &labels).await?;
            return Ok(Visit::Done(Box::new(node)));
        }
        self.after(level, &before, element, labels, steps, &outcome, candidate, &mut node, has_real_error).await?;
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
        candidate: &Candidate,
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
        if !found.is_empty() && level.depth + 1 >= self.plan.stage.settings.limits.depth {
            self.limits.push(format!(
                "{} elements below {} lie deeper than {}",
                found.len(),
                labels.join(" > "),
                self.plan.stage.settings.limits.depth
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
                families: level.families.iter().cloned().chain([candidate.family()]).collect(),
            };
            node.children = Box::pin(self.walk(&next, &look, found)).await?;
        }
        if let Some(name) = dialog {
            self.leave_dialog(level, &steps, &labels, element, &name, &look).await?;
        }
        if outcome.result == ActionResult::ContentChanged && candidate.way == Way::Usual {
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

    /// What of an action's evidence is a fault, and what is the matter of another page.
    fn judge(
        &mut self,
        element: &Element,
        before: &Look,
        effect: &Effect,
        outcome: &Outcome,
    ) -> (Vec<Finding>, Vec<Finding>) {
        if let Some(message) = &effect.hung {
            return (vec![oracle::hang(message)], Vec::new());
        }
        let mut aside = Vec::new();
        let judged =
            oracle::judge(&effect.since, self.session.policy(), Moment::Action).under(self.plan.stage.oracles());
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
            aside = other;
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
        (findings, aside)
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
/// Opened-by is kept through the steps of a wizard.
fn inherited(level: &Level, outcome: &Outcome) -> ActionResult {
    let within =
        matches!(level.opened_by, Some(ActionResult::WizardOpened)) && outcome.result == ActionResult::ContentChanged;
    if within { ActionResult::WizardOpened } else { outcome.result.clone() }
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
