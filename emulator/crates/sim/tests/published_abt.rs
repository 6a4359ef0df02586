//! The aggregate bottleneck throughputs BCube §6 prints, at full container scale.

use crate::cases::short_or_long;
use cubeyard_routing::bcube::{Bsr, FixedPath};
use cubeyard_routing::dcell::DcellRouting;
use cubeyard_routing::{Failures, Router};
use cubeyard_sim::count::{LinkFlows, Progress, count_links};
use cubeyard_sim::flows::{Flows, Pattern};
use cubeyard_topology::{Topology, TopologySpec};

fn build(spec: &str) -> Topology {
    Topology::build(&serde_json::from_str::<TopologySpec>(spec).unwrap()).unwrap()
}

fn all_to_all(topology: &Topology, router: &dyn Router, seed: u64) -> LinkFlows {
    let flows = Flows::new((0..topology.server_count()).collect(), Pattern::AllToAll);
    count_links(
        router,
        &flows,
        topology.links().len() * 2,
        &[],
        seed,
        &Progress::default(),
    )
    .unwrap()
}

#[test]
fn a_complete_bcube_carries_theorem_6_exactly() {
    let topology = build(r#"{"family":"bcube","n":4,"k":2}"#);
    let load = all_to_all(
        &topology,
        &FixedPath::new(&topology, Failures::none(&topology)).unwrap(),
        1,
    );
    // n/(n-1) (N-1) = 84 with n = 4, N = 64; flows / most loaded link must divide exactly.
    assert_eq!(load.flows, 64 * 63);
    assert_eq!(load.flows * 3, u64::from(load.most()) * 4 * 63);
}

#[test]
fn the_papers_partial_bcube_carries_about_2006_gigabits() {
    let topology = build(r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#);
    let abt = |router: &dyn Router, seed| {
        let load = all_to_all(&topology, router, seed);
        load.flows as f64 / f64::from(load.most())
    };
    let bsr = Bsr::new(&topology, Failures::none(&topology)).unwrap();
    let runs: Vec<f64> = (0..short_or_long(1, 3)).map(|seed| abt(&bsr, seed)).collect();
    assert!(runs.iter().all(|abt| (1980.0..2080.0).contains(abt)), "{runs:?}");
    let fixed = abt(&FixedPath::new(&topology, Failures::none(&topology)).unwrap(), 0);
    assert!((2338.0..2341.0).contains(&fixed), "{fixed}");
}

#[test]
fn the_papers_partial_dcell_carries_298_gigabits_on_its_own_routing() {
    let topology = build(r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#);
    let load = all_to_all(
        &topology,
        &DcellRouting::new(&topology, Failures::none(&topology)).unwrap(),
        0,
    );
    assert_eq!(load.flows, 2048 * 2047);
    assert_eq!(load.most(), 14047);
    let mut most = [0u32; 3];
    for (directed, &flows) in load.per_directed_link.iter().enumerate() {
        let level = usize::from(topology.links().level[directed / 2]);
        most[level] = most[level].max(flows);
    }
    assert_eq!(most, [14047, 9280, 5184]);
}
