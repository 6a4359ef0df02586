//! Max-min rates are checked by their defining condition and by linear programs, not by another
//! filling.

use cubeyard_routing::{FailureKind, Failures};
use cubeyard_sim::Progress;
use cubeyard_sim::flows::{Flows, Pattern};
use cubeyard_sim::maxmin::max_min_rates;
use cubeyard_sim::paths::Paths;
use cubeyard_sim::scheme::Scheme;
use cubeyard_topology::{Topology, TopologySpec};
use microlp::{ComparisonOp, OptimizationDirection, Problem};
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

/// Feasible, and every flow has a bottleneck: a full link on which no flow is faster. That is
/// necessary and sufficient for max-min fairness.
fn check_bottlenecks(paths: &Paths, capacity: &[f64], rates: &[f64]) -> Result<(), TestCaseError> {
    let mut used = vec![0.0; capacity.len()];
    let mut fastest = vec![0.0f64; capacity.len()];
    for (flow, &rate) in rates.iter().enumerate() {
        for &link in paths.path(flow) {
            used[link as usize] += rate;
            fastest[link as usize] = fastest[link as usize].max(rate);
        }
    }
    for (link, &sum) in used.iter().enumerate() {
        let most = capacity[link] * (1.0 + 1e-9);
        prop_assert!(sum <= most, "link {link} carries {sum} of {}", capacity[link]);
    }
    for (flow, &rate) in rates
        .iter()
        .enumerate()
        .filter(|&(flow, _)| !paths.path(flow).is_empty())
    {
        let bottleneck = paths.path(flow).iter().any(|&link| {
            let link = link as usize;
            used[link] >= capacity[link] * (1.0 - 1e-9) && rate >= fastest[link] * (1.0 - 1e-9)
        });
        prop_assert!(bottleneck, "flow {flow} at {rate} has no bottleneck");
    }
    Ok(())
}

/// A linear program over the flows' rates: no link carries more than it can, flows in `settled`
/// keep their rate, and all others get at least `floor`. Maximizes the least rate of the others, or
/// the rate of `one` of them.
fn program(
    capacity: &[f64],
    flows: &[Vec<u32>],
    settled: &[Option<f64>],
    floor: f64,
    one: Option<usize>,
) -> f64 {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let least = problem.add_var(f64::from(u8::from(one.is_none())), (floor, f64::INFINITY));
    let mut rates = Vec::new();
    for (flow, settled) in settled.iter().enumerate() {
        let weight = f64::from(u8::from(one == Some(flow)));
        let bounds = settled.map_or((floor, f64::INFINITY), |rate| (rate, rate));
        let rate = problem.add_var(weight, bounds);
        if settled.is_none() {
            problem.add_constraint([(rate, 1.0), (least, -1.0)], ComparisonOp::Ge, 0.0);
        }
        rates.push(rate);
    }
    for (link, &rate) in capacity.iter().enumerate() {
        let crossing = flows
            .iter()
            .zip(&rates)
            .filter(|(links, _)| links.contains(&(link as u32)));
        let sum: Vec<_> = crossing.map(|(_, &flow)| (flow, 1.0)).collect();
        // Rates that are already final were rounded: allow the same relative error.
        problem.add_constraint(&sum, ComparisonOp::Le, rate * (1.0 + 1e-9));
    }
    problem.solve().unwrap().objective()
}

/// Max-min rates by their definition: a linear program finds the greatest minimum rate. For each
/// flow, another program checks whether it can get more while all others keep that rate; if not,
/// its rate is final. Then the rest is solved in the same way.
fn rates_by_programs(capacity: &[f64], flows: &[Vec<u32>]) -> Vec<f64> {
    let mut settled = vec![None; flows.len()];
    let mut floor = 0.0;
    while settled.contains(&None) {
        floor = program(capacity, flows, &settled, floor, None) * (1.0 - 1e-9);
        let open: Vec<usize> = (0..flows.len()).filter(|&flow| settled[flow].is_none()).collect();
        let stuck = open
            .iter()
            .filter(|&&flow| program(capacity, flows, &settled, floor, Some(flow)) <= floor * (1.0 + 1e-6));
        let stuck: Vec<usize> = stuck.copied().collect();
        assert!(!stuck.is_empty(), "somebody is bound at the greatest least rate");
        for flow in stuck {
            settled[flow] = Some(floor);
        }
    }
    settled.into_iter().flatten().collect()
}

proptest! {
    #[test]
    fn every_flow_has_a_bottleneck((capacity, flows) in any_instance()) {
        let paths = as_paths(&flows);
        check_bottlenecks(&paths, &capacity, &max_min_rates(&paths, &capacity))?;
    }

    #[test]
    fn linear_programs_give_the_same_rates((capacity, flows) in any_instance()) {
        let flows = &flows[..flows.len().min(9)];
        let ours = max_min_rates(&as_paths(flows), &capacity);
        for (flow, (ours, theirs)) in ours.iter().zip(rates_by_programs(&capacity, flows)).enumerate() {
            prop_assert!((ours - theirs).abs() <= 1e-6 * theirs, "flow {flow}: {ours}, by programs {theirs}");
        }
    }

    /// The flows of real networks with real failures, links of two rates.
    #[test]
    fn routed_flows_have_bottlenecks(
        family in 0usize..4, kind in 0usize..3, ratio in 0.0..0.6f64, seed in 0u64..1000, fast in 1u32..20,
    ) {
        let spec = [
            r#"{"family":"bcube","n":4,"k":1}"#,
            r#"{"family":"dcell","n":3,"k":1}"#,
            r#"{"family":"fat_tree","ports":4,"layers":3}"#,
            r#"{"family":"torus3d","x":3,"y":3,"z":2}"#,
        ][family];
        let topology = Topology::build(&serde_json::from_str::<TopologySpec>(spec).unwrap()).unwrap();
        let kind = [FailureKind::Server, FailureKind::Switch, FailureKind::Link][kind];
        let failures = Failures::random(&topology, kind, ratio, seed);
        let links = topology.links().len() * 2;
        let capacity: Vec<f64> = (0..links).map(|link| if link % 3 == 0 { f64::from(fast) } else { 1.0 }).collect();
        let flows = Flows::new((0..topology.server_count()).collect(), Pattern::AllToAll);
        let scheme = Scheme::new(None, &topology, failures).unwrap();
        let paths = scheme.route(&flows, seed, &Progress::default()).unwrap();
        let rates = max_min_rates(&paths, &capacity);
        check_bottlenecks(&paths, &capacity, &rates)?;
        for &flow in &paths.dropped {
            prop_assert_eq!(rates[flow as usize], 0.0);
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
