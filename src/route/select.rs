//! The choice of routes from a map.

use std::collections::HashSet;

use super::{Route, RouteError, RouteMap};

/// What was asked for; the union of all of it is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Every route.
    pub all: bool,
    /// Categories by name (without regard to case) or number.
    pub categories: Vec<String>,
    /// Routes.
    pub routes: Vec<Route>,
    /// Numbers and ranges (`1-5,9`) or `all`.
    pub spec: Option<String>,
}

impl Selection {
    /// Whether nothing was asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.all && self.categories.is_empty() && self.routes.is_empty() && self.spec.is_none()
    }
}

/// The selected routes, in the order of the map.
///
/// # Errors
/// [`RouteError::BadSelection`] for a name, number or route that the map does not have, and for a choice of nothing.
pub fn select(map: &RouteMap, selection: &Selection) -> Result<Vec<Route>, RouteError> {
    let mut chosen: HashSet<Route> = HashSet::new();
    if selection.all {
        chosen.extend(map.routes.iter().map(|entry| entry.route.clone()));
    }
    for wanted in &selection.categories {
        let by_name =
            map.categories.iter().find(|category| category.name.to_lowercase() == wanted.trim().to_lowercase());
        let by_number = || wanted.trim().parse::<usize>().ok().and_then(|n| map.categories.get(n.checked_sub(1)?));
        let category = by_name.or_else(by_number).ok_or_else(|| RouteError::BadSelection {
            spec: wanted.clone(),
            reason: format!(
                "there is no such category; there are {}",
                map.categories
                    .iter()
                    .enumerate()
                    .map(|(place, c)| format!("{} {}", place + 1, c.name))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        })?;
        chosen.extend(category.routes.iter().cloned());
    }
    let known: HashSet<&Route> = map.routes.iter().map(|entry| &entry.route).collect();
    for route in &selection.routes {
        if !known.contains(route) {
            return Err(RouteError::BadSelection {
                spec: route.to_string(),
                reason: "the route map does not have it".into(),
            });
        }
        chosen.insert(route.clone());
    }
    if let Some(spec) = &selection.spec {
        for number in numbers(spec, map.routes.len())? {
            chosen.extend(map.routes.get(number - 1).map(|entry| entry.route.clone()));
        }
    }
    if chosen.is_empty() {
        return Err(RouteError::BadSelection { spec: String::new(), reason: "nothing is selected".into() });
    }
    Ok(map.routes.iter().filter(|entry| chosen.contains(&entry.route)).map(|entry| entry.route.clone()).collect())
}

/// The numbers that a text such as `1-5,9` or `all` names, each between 1 and `count`.
fn numbers(spec: &str, count: usize) -> Result<Vec<usize>, RouteError> {
    let refuse = |reason: String| RouteError::BadSelection { spec: spec.to_owned(), reason };
    let number = |text: &str| match text.trim().parse::<usize>() {
        Ok(number) if (1..=count).contains(&number) => Ok(number),
        Ok(number) => Err(refuse(format!("{number} is not between 1 and {count}"))),
        Err(_) => Err(refuse(format!("`{}` is not a number", text.trim()))),
    };
    let mut all = Vec::new();
    for part in spec.split(',').map(str::trim) {
        if part.eq_ignore_ascii_case("all") {
            all.extend(1..=count);
        } else if let Some((from, to)) = part.split_once('-') {
            let (from, to) = (number(from)?, number(to)?);
            if from > to {
                return Err(refuse(format!("the range {from}-{to} runs backwards")));
            }
            all.extend(from..=to);
        } else {
            all.push(number(part)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> RouteMap {
        RouteMap::parse("## Users\n- /u1\n- /u2\n\n## Shop\n- /s1\n- /s2\n- /s3\n").unwrap()
    }

    fn chosen(selection: Selection) -> Result<String, RouteError> {
        select(&map(), &selection).map(|routes| routes.iter().map(Route::as_str).collect::<Vec<_>>().join(" "))
    }

    fn by_numbers(spec: &str) -> Result<String, RouteError> {
        chosen(Selection { spec: Some(spec.into()), ..Selection::default() })
    }

    #[test]
    fn numbers_run_on_across_categories() {
        assert_eq!(by_numbers("2-3, 5").unwrap(), "/u2 /s1 /s3");
        assert_eq!(by_numbers("all").unwrap(), "/u1 /u2 /s1 /s2 /s3");
        for bad in ["0", "6", "3-2", "1-", "x", "", "1,,2"] {
            assert!(by_numbers(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn categories_are_chosen_by_name_or_number_and_joined_in_the_maps_order() {
        let categories = vec!["shop".into(), "1".into()];
        assert_eq!(chosen(Selection { categories, ..Selection::default() }).unwrap(), "/u1 /u2 /s1 /s2 /s3");
        let categories = vec!["9".into()];
        assert!(chosen(Selection { categories, ..Selection::default() }).is_err());
        assert!(chosen(Selection::default()).is_err());
    }
}
