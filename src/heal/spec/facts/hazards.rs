//! What weakens a test: skips, time limits, options of force, counted where it stands.

use tree_sitter::Node;

use super::walk::{Place, Walk};
use crate::heal::spec::chain::Chain;

impl Walk<'_> {
    pub(super) fn hazard(&mut self, place: &Place, name: &str) {
        *self.test(place).hazards.entry(name.to_owned()).or_default() += 1;
    }

    pub(super) fn hazards_of_call(&mut self, chain: &Chain, callee: &str, arguments: Option<Node<'_>>, place: &Place) {
        let names: Vec<String> =
            chain.links.iter().filter(|link| link.is_call).map(|link| link.method.clone()).collect();
        let own_test =
            callee.starts_with("test.") || callee.starts_with("testInfo.") || callee.starts_with("test.info()");
        for name in &names {
            match name.as_str() {
                "nth" | "first" | "last" => self.hazard(place, "nth"),
                "waitForTimeout"
                | "catch"
                | "setDefaultTimeout"
                | "setDefaultNavigationTimeout"
                | "routeFromHAR"
                | "route"
                | "addInitScript" => self.hazard(place, name),
                "skip" | "fixme" | "fail" | "only" | "slow" | "setTimeout" | "configure" if own_test => {
                    self.hazard(place, name);
                }
                _ => {}
            }
        }
        if let Some(arguments) = arguments {
            self.options(arguments, place);
            if names.last().is_some_and(|name| name.to_ascii_lowercase().contains("timeout")) {
                let number = arguments.named_child(0).and_then(|node| self.spec.of(node).replace('_', "").parse().ok());
                if let Some(number) = number {
                    self.limit(place, "setTimeout", number);
                }
            }
        }
    }

    fn limit(&mut self, place: &Place, name: &str, value: u64) {
        // Zero means without an end.
        let value = if value == 0 { u64::MAX } else { value };
        let limit = self.test(place).limits.entry(name.to_owned()).or_default();
        *limit = limit.saturating_add(value);
    }

    /// Options that weaken: `force`, `timeout`, `noWaitAfter`, tolerances of screenshots, `retries`.
    pub(super) fn options(&mut self, arguments: Node<'_>, place: &Place) {
        let mut cursor = arguments.walk();
        let objects: Vec<Node<'_>> =
            arguments.named_children(&mut cursor).filter(|node| node.kind() == "object").collect();
        for object in objects {
            let mut pairs = object.walk();
            let all: Vec<Node<'_>> = object.named_children(&mut pairs).collect();
            for pair in all {
                let (Some(key), Some(value)) = (pair.child_by_field_name("key"), pair.child_by_field_name("value"))
                else {
                    continue;
                };
                let key = self.spec.of(key).trim_matches(['\'', '"']).to_owned();
                let value = self.spec.of(value).to_owned();
                match key.as_str() {
                    "force" | "noWaitAfter" | "trial" | "retries" => self.hazard(place, &key),
                    "maxDiffPixels" | "maxDiffPixelRatio" | "threshold" | "mask" | "maskColor" | "clip"
                    | "omitBackground" => {
                        self.hazard(place, &format!("{key}={value}"));
                    }
                    "timeout" => {
                        self.hazard(place, "timeout");
                        if let Ok(number) = value.replace('_', "").parse() {
                            self.limit(place, "timeout", number);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
