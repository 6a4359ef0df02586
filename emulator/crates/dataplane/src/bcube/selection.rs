//! Chooses a flow's path among the paths that a probing found. `[bcube §4.2]`

use super::structure::Path;

/// A path that a probe has passed, with its free bandwidth.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The probed path.
    pub path: Path,
    /// Lowest free bandwidth of its links; the flow's own traffic counts as used.
    pub available_bits_per_sec: f64,
}

/// A flow's path before a choice.
#[derive(Clone, Copy, Debug)]
pub struct InUse {
    /// The number of the current path.
    pub path_id: u32,
    /// The flow's own rate. On its current path it is available in addition to the free bandwidth.
    pub rate_bits_per_sec: f64,
}

/// The index of the best of `candidates`; `None` if there are none.
///
/// The paper takes the path with the most free bandwidth, and does not define ties. `[bcube §4.1]`
/// Our rules: paths within `margin_bits_per_sec` of the best count as equal, since measurements are
/// noisy. Among equals, the current path is kept; else the path with the fewest hops wins, since a
/// detour costs others bandwidth; else flows alternate.
pub fn choose(
    candidates: &[Candidate],
    in_use: Option<InUse>,
    margin_bits_per_sec: f64,
    turn: u32,
) -> Option<usize> {
    let is_in_use =
        |candidate: &Candidate| in_use.is_some_and(|in_use| in_use.path_id == candidate.path.numbered.id);
    let worth = |candidate: &Candidate| {
        let own = in_use.filter(|_| is_in_use(candidate));
        candidate.available_bits_per_sec + own.map_or(0.0, |in_use| in_use.rate_bits_per_sec)
    };
    let best = candidates.iter().map(worth).fold(f64::NEG_INFINITY, f64::max);
    let equal: Vec<usize> = (0..candidates.len())
        .filter(|&index| worth(&candidates[index]) >= best - margin_bits_per_sec)
        .collect();
    if let Some(&stays) = equal.iter().find(|&&index| is_in_use(&candidates[index])) {
        return Some(stays);
    }
    let fewest = equal.iter().map(|&index| candidates[index].path.hops()).min()?;
    let shortest: Vec<usize> = equal
        .into_iter()
        .filter(|&index| candidates[index].path.hops() == fewest)
        .collect();
    shortest.get(turn as usize % shortest.len()).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bcube::nha::Nha;
    use crate::bcube::route::{NumberedPath, SourceRoute};

    const RATE: f64 = 100e6;

    fn candidate(number: u8, hops: u8, available_bits_per_sec: f64) -> Candidate {
        let route = SourceRoute::new((0..hops).map(|hop| Nha(number * 8 + hop))).unwrap();
        Candidate {
            path: Path {
                numbered: NumberedPath::new(0, 1, route),
                servers: Vec::new(),
            },
            available_bits_per_sec,
        }
    }

    #[test]
    fn the_freest_path_wins_however_long_it_is() {
        let candidates = [candidate(0, 2, 0.2 * RATE), candidate(1, 4, 0.9 * RATE)];
        assert_eq!(choose(&candidates, None, 0.1 * RATE, 0), Some(1));
    }

    #[test]
    fn of_equal_paths_the_short_ones_are_taken_in_turn() {
        let candidates = [
            candidate(0, 4, RATE),
            candidate(1, 2, 0.95 * RATE),
            candidate(2, 2, RATE),
        ];
        let chosen: Vec<_> = (0..4)
            .map(|turn| choose(&candidates, None, 0.1 * RATE, turn))
            .collect();
        assert_eq!(chosen, [Some(1), Some(2), Some(1), Some(2)]);
    }

    #[test]
    fn a_flow_alone_on_its_path_stays() {
        let candidates = [candidate(0, 2, 0.0), candidate(1, 2, RATE)];
        let in_use = InUse {
            path_id: candidates[0].path.numbered.id,
            rate_bits_per_sec: 0.98 * RATE,
        };
        assert_eq!(choose(&candidates, Some(in_use), 0.1 * RATE, 1), Some(0));
    }

    proptest! {
        #[test]
        fn the_choice_is_never_worse_than_the_best_by_more_than_the_margin(
            available in proptest::collection::vec(0.0..RATE, 0..5), turn in any::<u32>(), margin in 0.0..RATE
        ) {
            let candidates: Vec<_> = available.iter().zip(0u8..).map(|(&free, i)| candidate(i, 1 + i % 4, free)).collect();
            let chosen = choose(&candidates, None, margin, turn);
            prop_assert_eq!(chosen.is_none(), candidates.is_empty());
            if let Some(index) = chosen {
                let best = available.iter().copied().fold(0.0, f64::max);
                prop_assert!(available[index] >= best - margin);
            }
        }
    }
}
