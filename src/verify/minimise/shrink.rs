//! Delta debugging: which steps can be left out and the bug still fires. Pure but for the question it asks.
//!
//! Counter-based (CDD): every unit is taken to be needed with the same probability, which grows with each round that has
//! asked about all of them; a round leaves out as many units at once as then promises most. It equals the probabilistic
//! delta debugging that it stands for (Zhang et al. 2024), and needs a fraction of the replays of ddmin on traces of this
//! length. Late units are asked about first: what depends on an earlier step goes before that step.

/// Units left out at once, round by round, for so many units: falls to one.
fn sizes(units: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut needed: f64 = 0.1;
    loop {
        let size = ((-1.0 / (1.0 - needed).ln()).round() as usize).clamp(1, units.max(1));
        if sizes.last() != Some(&size) {
            sizes.push(size);
        }
        if size == 1 {
            return sizes;
        }
        needed /= 1.0 - (1.0 - needed).powi(i32::try_from(size).unwrap_or(i32::MAX));
    }
}

/// Leaves out units as long as what is left still fires. `fires` is asked about the places that are kept, in order.
///
/// # Errors
/// Whatever `fires` gives up with.
pub(super) async fn cdd<E>(
    mut units: Vec<Vec<usize>>,
    fires: &mut impl AsyncFnMut(&[usize]) -> Result<bool, E>,
) -> Result<Vec<Vec<usize>>, E> {
    for size in sizes(units.len()) {
        let mut end = units.len();
        while end > 0 {
            let start = end.saturating_sub(size);
            if fires(&without(&units, start, end)).await? {
                units.drain(start..end);
            }
            end = start;
        }
    }
    Ok(units)
}

/// Leaves out single units until none can be left out any more: what is left is 1-minimal.
///
/// # Errors
/// Whatever `fires` gives up with.
pub(super) async fn one_by_one<E>(
    mut units: Vec<Vec<usize>>,
    fires: &mut impl AsyncFnMut(&[usize]) -> Result<bool, E>,
) -> Result<Vec<Vec<usize>>, E> {
    loop {
        let before = units.len();
        for place in (0..units.len()).rev() {
            if fires(&without(&units, place, place + 1)).await? {
                units.remove(place);
            }
        }
        if units.len() == before {
            return Ok(units);
        }
    }
}

fn without(units: &[Vec<usize>], start: usize, end: usize) -> Vec<usize> {
    units.iter().enumerate().filter(|(at, _)| !(start..end).contains(at)).flat_map(|(_, unit)| unit.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Shrinks `0..steps` where exactly these are needed; gives back what is left and how often it was asked.
    fn shrink(steps: usize, needed: &BTreeSet<usize>) -> (Vec<usize>, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut known = BTreeSet::new();
        let mut fires = async |kept: &[usize]| {
            known.insert(kept.to_vec());
            Ok::<_, ()>(needed.iter().all(|step| kept.contains(step)))
        };
        let units = (0..steps).map(|step| vec![step]).collect();
        let left = runtime.block_on(async {
            let left = cdd(units, &mut fires).await.unwrap();
            one_by_one(left, &mut fires).await.unwrap()
        });
        (left.concat(), known.len())
    }

    #[test]
    fn a_round_leaves_out_fewer_than_the_one_before() {
        assert_eq!(sizes(60), [9, 6, 3, 2, 1]);
        assert_eq!(sizes(4), [4, 3, 2, 1]);
        assert_eq!(sizes(1), [1]);
        assert_eq!(sizes(0), [1]);
    }

    #[test]
    fn nothing_is_left_of_what_is_not_needed() {
        assert_eq!(shrink(20, &BTreeSet::new()).0, Vec::<usize>::new());
        assert_eq!(shrink(20, &BTreeSet::from([3, 11, 12])).0, [3, 11, 12]);
    }

    #[test]
    fn sixty_steps_cost_a_few_dozen_replays() {
        let (left, asked) = shrink(60, &BTreeSet::from([20, 35, 40, 50, 52, 57]));
        assert_eq!(left.len(), 6);
        assert!(asked < 60, "{asked}");
    }

    proptest! {
        #[test]
        fn exactly_the_needed_steps_are_left(steps in 1_usize..70, needed in proptest::collection::btree_set(0_usize..70, 0..8)) {
            let needed: BTreeSet<usize> = needed.into_iter().filter(|step| *step < steps).collect();
            let (left, _) = shrink(steps, &needed);
            prop_assert_eq!(left, needed.into_iter().collect::<Vec<_>>());
        }
    }
}
