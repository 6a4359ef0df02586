//! Max-min rates are checked by their defining condition, not by another filling.

use cubeyard_sim::maxmin::max_min_rates;
use cubeyard_sim::paths::Paths;
use proptest::prelude::*;

/// Random networks: capacities, and flows as sets of links.
fn any_instance() -> impl Strategy<Value = (Vec<f64>, Vec<Vec<u32>>)> {
    (1usize..12).prop_flat_map(|links| {
        let capacities = prop::collection::vec((1u32..100).prop_map(f64::from), links);
        let flow =
            prop::collection::btree_set(0..links as u32, 1..=links).prop_map(|set| set.into_iter().collect());
        (capacities, prop::collection::vec(flow, 1..40))
    })
}

fn as_paths(flows: &[Vec<u32>]) -> Paths {
    let mut offsets = vec![0];
    let mut links = Vec::new();
    for flow in flows {
        links.extend(flow);
        offsets.push(links.len() as u32);
    }
    Paths {
        offsets,
        links,
        dropped: Vec::new(),
    }
}

proptest! {
    /// Feasible, and every flow has a bottleneck: a full link on which no flow is faster. That is
    /// necessary and sufficient for max-min fairness.
    #[test]
    fn every_flow_has_a_bottleneck((capacity, flows) in any_instance()) {
        let rates = max_min_rates(&as_paths(&flows), &capacity);
        let mut used = vec![0.0; capacity.len()];
        let mut fastest = vec![0.0f64; capacity.len()];
        for (flow, links) in flows.iter().enumerate() {
            for &link in links {
                used[link as usize] += rates[flow];
                fastest[link as usize] = fastest[link as usize].max(rates[flow]);
            }
        }
        for (link, &sum) in used.iter().enumerate() {
            prop_assert!(sum <= capacity[link] * (1.0 + 1e-9), "link {link} carries {sum} of {}", capacity[link]);
        }
        for (flow, links) in flows.iter().enumerate() {
            let bottleneck = links.iter().any(|&link| {
                let link = link as usize;
                used[link] >= capacity[link] * (1.0 - 1e-9) && rates[flow] >= fastest[link] * (1.0 - 1e-9)
            });
            prop_assert!(bottleneck, "flow {flow} at {} has no bottleneck", rates[flow]);
        }
    }
}

#[test]
fn a_textbook_line_comes_out() {
    // Three links in a row of capacity 1, 2 and 1; one flow over all, one over each.
    let rates = max_min_rates(
        &as_paths(&[vec![0, 1, 2], vec![0], vec![1], vec![2]]),
        &[1.0, 2.0, 1.0],
    );
    assert_eq!(rates, [0.5, 0.5, 1.5, 0.5]);
}

#[test]
fn a_dropped_flow_gets_nothing_and_a_flow_to_itself_is_unbound() {
    let paths = Paths {
        offsets: vec![0, 0, 0, 1],
        links: vec![0],
        dropped: vec![0],
    };
    let rates = max_min_rates(&paths, &[8.0]);
    assert_eq!(rates, [0.0, f64::INFINITY, 8.0]);
}
