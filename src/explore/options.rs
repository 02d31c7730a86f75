//! The options of a list: some of them are chosen in turn, and what was chosen before is chosen again.

use super::choose::Candidate;
use super::gesture::Way;
use super::walk::{Level, Walker};
use crate::browser::{Choice, Element, Look, SessionError};
use crate::maze::Node;
use crate::replay::{Action, Performed, Target, perform};

/// Whether the options of an element are tried: it is a list of which one is taken, and either somebody listens to what is
/// chosen, or it belongs to no form. Other lists are fields of a form, which are filled only where data may change.
#[must_use]
pub(super) fn takes_options(element: &Element, fills: bool) -> bool {
    let heard = element.types.iter().any(|kind| matches!(kind.as_str(), "change" | "input"));
    element.tag == "select"
        && element.kind.as_deref() == Some("select-one")
        && (fills || heard || element.form_method.is_none())
}

/// Labels of the options that are tried: the first, one from the middle and the last of those that are not chosen.
#[must_use]
fn tried(options: &[Choice]) -> Vec<String> {
    let free: Vec<&Choice> = options
        .iter()
        .filter(|option| !option.chosen && !option.disabled && option.exact && !option.label.is_empty())
        .collect();
    let picked = match free.len() {
        0..=3 => (0..free.len()).collect(),
        count => vec![0, count / 2, count - 1],
    };
    picked.into_iter().filter_map(|at| free.get(at)).map(|option| option.label.clone()).collect()
}

impl Walker<'_> {
    /// Chooses options of a list in turn; gives back their nodes.
    pub(super) async fn options(
        &mut self,
        level: &Level,
        before: &Look,
        list: &Candidate,
        element: &Element,
        labels: &[String],
    ) -> Result<Vec<Node>, SessionError> {
        let options = self.session.options(element.uid).await?;
        let chosen = options.iter().find(|option| option.chosen).map(|option| option.label.clone());
        let tried = tried(&options);
        let usable = options.iter().filter(|option| !option.chosen && !option.disabled).count();
        if tried.is_empty() || level.depth + 1 >= self.plan.stage.settings.limits.depth {
            return Ok(Vec::new());
        }
        let left_out = usable.saturating_sub(tried.len());
        self.coverage.found += left_out as u64;
        *self.coverage.skipped.entry("equal to one that was acted on".to_owned()).or_default() += left_out as u64;
        let below = Level { labels: labels.to_vec(), depth: level.depth + 1, ..level.clone() };
        let candidates = tried.into_iter().enumerate().map(|(at, label)| Candidate {
            way: Way::Option(label),
            again: true,
            order: at,
            stands_for: if at == 0 { left_out } else { 0 },
            ..list.clone()
        });
        let nodes = Box::pin(self.walk(&below, before, candidates.collect())).await?;
        if let Some(label) = chosen
            && let Some(now) = self.ensure(level, before, list).await?
        {
            let again = Action::Choose(label);
            if let Performed::Done(effect) = perform(&self.session, &again, Target::Uid(now.uid), self.terms()).await?
                && effect.hung.is_none()
            {
                self.look = effect.look;
            }
        }
        Ok(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(label: &str) -> Choice {
        Choice { label: label.into(), exact: true, ..Choice::default() }
    }

    #[test]
    fn three_options_stand_for_many_and_the_chosen_one_is_left_alone() {
        let mut all: Vec<Choice> = ["All", "Open", "Paid", "Late", "Lost", "Gone"].map(option).into();
        all[0].chosen = true;
        all[3].disabled = true;
        assert_eq!(tried(&all), ["Open", "Lost", "Gone"]);
        assert_eq!(tried(&all[..3]), ["Open", "Paid"]);
        assert!(tried(&all[..1]).is_empty());
    }

    #[test]
    fn a_list_that_nobody_listens_to_is_a_field_of_its_form() {
        let list = Element { tag: "select".into(), kind: Some("select-one".into()), ..Element::default() };
        let in_form = Element { form_method: Some("get".into()), ..list.clone() };
        let heard = Element { types: vec!["change".into()], ..in_form.clone() };
        assert!(takes_options(&list, false) && takes_options(&heard, false) && takes_options(&in_form, true));
        assert!(!takes_options(&in_form, false));
        assert!(!takes_options(&Element { kind: Some("select-multiple".into()), ..list }, false));
    }
}
