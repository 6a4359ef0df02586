//! Subways: placement, rebinding and detours by the text's formulas.

use crate::common;

use common::{assert_walks, build};
use cubeyard_routing::path::link_of;
use cubeyard_routing::subways::{
    DetourLimits, HotSpots, Loop, SubwaysRouting, TorWeights, hot_groups, hot_racks, placement_weights,
    plan_detours, rebind_probabilities,
};
use cubeyard_routing::{Failures, Router};
use proptest::prelude::*;

const LIMITS: DetourLimits = DetourLimits {
    relays: 2,
    usable: 0.6,
};

#[test]
fn parallel_10_and_25_gigabit_networks_get_two_and_five_sevenths() {
    let topology = build(
        r#"{"family":"subways","type":2,"p":2,"q":8,"l":6,"c":2,"clusters":2,"cluster_gbps":[10,25],"uplink_gbps":25}"#,
    );
    let router = SubwaysRouting::by_rate(&topology, Failures::none(&topology)).unwrap();
    let (links, none) = (topology.links(), Failures::none(&topology));
    let far = topology.node_by_name("0.3.0").unwrap();
    let (mut fast, mut path) = (0, Vec::new());
    for flow in 0..7000 {
        router.route(0, far, flow, &mut path).unwrap();
        assert_walks(&topology, 0, far, &path, &none);
        fast += u32::from(links.rate_bits_per_sec(link_of(path[0]) as usize) > 20e9);
    }
    assert!((4880..5120).contains(&fast), "{fast} of 7000");
}

#[test]
fn a_shared_tor_comes_first_and_weights_decide_elsewhere() {
    let topology = build(r#"{"family":"subways","type":1,"p":2,"q":4,"l":6,"clusters":2}"#);
    let none = Failures::none(&topology);
    let tors = topology.tiers()[0].clone();
    // All ToRs alike but the one to the left of rack 0, which nobody is to use as a source.
    let mut weights = TorWeights {
        source: vec![1.0; 12],
        destination: vec![1.0; 12],
    };
    weights.source[5] = 0.0;
    weights.destination[2] = 3.0;
    let router = SubwaysRouting::by_tor(&topology, none.clone(), &weights).unwrap();
    let server = |name: &str| topology.node_by_name(name).unwrap();
    let mut path = Vec::new();
    let mut second = 0;
    for flow in 0..4000 {
        router
            .route(server("0.0.0"), server("0.1.1"), flow, &mut path)
            .unwrap();
        assert_eq!(path.len(), 2, "racks 0 and 1 share ToR 0");
        router
            .route(server("0.0.0"), server("0.3.0"), flow, &mut path)
            .unwrap();
        assert_eq!(path.len(), 4);
        let links = topology.links();
        assert_eq!(links.b[link_of(path[0]) as usize], tors.first);
        second += u32::from(links.b[link_of(path[3]) as usize] == tors.first + 2);
        router
            .route(server("0.0.0"), server("1.3.0"), flow, &mut path)
            .unwrap();
        assert_eq!(path.len(), 6, "the other cluster is beyond the core");
        assert_walks(&topology, server("0.0.0"), server("1.3.0"), &path, &none);
    }
    assert!((2880..3120).contains(&second), "{second} of 4000");
    assert!(
        SubwaysRouting::by_tor(
            &topology,
            none,
            &TorWeights {
                source: vec![],
                destination: vec![]
            }
        )
        .is_none()
    );
}

#[test]
fn placement_follows_the_capacity_left() {
    assert_eq!(
        placement_weights(&[40.0, 40.0], &[0.5, 0.75]),
        [2.0 / 3.0, 1.0 / 3.0]
    );
    assert_eq!(placement_weights(&[40.0, 10.0], &[0.0, 0.0]), [0.8, 0.2]);
    assert_eq!(placement_weights(&[40.0, 10.0], &[1.0, 1.2]), [0.8, 0.2]);
}

#[test]
fn rebinding_follows_the_formula() {
    // U_target = 0.6; t = 0.5 * 0.5 * 0.6/0.8 + 0.25, 0.5 * 0.5 * 0.6/0.4 + 0.25.
    let p = rebind_probabilities(&[40.0, 40.0], &[0.8, 0.4], &[0.5, 0.5], &[10.0, 10.0], 0.5);
    let (t0, t1) = (0.1875 + 0.25, 0.375 + 0.25);
    assert!(
        (p[0] - t0 / (t0 + t1)).abs() < 1e-12 && (p[1] - t1 / (t0 + t1)).abs() < 1e-12,
        "{p:?}"
    );
    // An idle link recovers, and a link that would overflow is capped with the rest spread over the
    // others.
    let p = rebind_probabilities(&[40.0, 40.0], &[0.9, 0.0], &[0.9, 0.0], &[10.0, 10.0], 0.5);
    assert!(p[1] > 0.0);
    let p = rebind_probabilities(&[40.0; 3], &[0.9, 0.9, 0.1], &[0.8, 0.8, 0.8], &[10.0; 3], 1.0);
    assert!(
        (p[2] - 10.0 / 24.0).abs() < 1e-12 && (p[0] - 7.0 / 24.0).abs() < 1e-12,
        "{p:?}"
    );
}

proptest! {
    /// Probabilities are probabilities, and no link gets more than it carries.
    #[test]
    fn rebinding_stays_within_links(
        tors in prop::collection::vec((1.0..100.0f64, 0.0..1.0f64, 0.0..1.0f64, 1.0..40.0f64), 1..6), c in 0.0..1.0f64,
    ) {
        let column = |pick: fn(&(f64, f64, f64, f64)) -> f64| tors.iter().map(pick).collect::<Vec<_>>();
        let (shares, rates) = (column(|t| t.2), column(|t| t.3));
        let p = rebind_probabilities(&column(|t| t.0), &column(|t| t.1), &shares, &rates, c);
        prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let traffic: f64 = shares.iter().zip(&rates).map(|(u, b)| u * b).sum();
        for (p, rate) in p.iter().zip(&rates) {
            prop_assert!(*p >= 0.0 && p * traffic <= rate * (1.0 + 1e-9));
        }
    }

    /// Detours leave by cool ToRs, each used once, along links that exist, within the relays
    /// allowed, and never carry more than is usable or than the source's links.
    #[test]
    fn detours_keep_the_rules(
        ports in 2usize..5, size in 5usize..16, hot in prop::collection::vec(any::<bool>(), 16), relays in 1usize..4,
    ) {
        let ring = Loop { size, ports };
        let hot = &hot[..size];
        let limits = DetourLimits { relays, usable: 0.6 };
        let plan = plan_detours(ring, hot, &vec![10.0; size], &vec![12.0; size], limits);
        let racks = hot_racks(ring, hot);
        let mut used = std::collections::BTreeSet::new();
        let mut sent = vec![0.0; size];
        for detour in &plan.detours {
            prop_assert!(!hot[detour.tor] && used.insert(detour.tor));
            prop_assert!(detour.capacity <= 6.0 + 1e-9 && !detour.paths.is_empty());
            for path in &detour.paths {
                prop_assert!(racks.contains(&path.source));
                prop_assert_eq!(path.steps.last(), Some(&detour.tor));
                prop_assert!(path.steps.len() / 2 <= relays);
                prop_assert!(ring.tors_of(path.source).contains(&path.steps[0]));
                for hop in path.steps.windows(3).step_by(2) {
                    let tors = ring.tors_of(hop[1]);
                    prop_assert!(tors.contains(&hop[0]) && tors.contains(&hop[2]) && !racks.contains(&hop[1]));
                }
                sent[path.source] += detour.capacity / detour.paths.len() as f64;
            }
        }
        prop_assert!(sent.iter().sum::<f64>() <= 12.0 * racks.len() as f64 + 1e-9);
        for (rack, tor) in plan.withdrawn {
            prop_assert!(racks.contains(&rack) && ring.tors_of(rack).contains(&tor));
        }
    }
}

/// Figure 4: three ports, rack R hot with its ToRs A, B, C; R' and R'' relay to the left and right.
#[test]
fn a_single_hot_rack_detours_both_ways() {
    let ring = Loop { size: 12, ports: 3 };
    let mut hot = vec![false; 12];
    hot[4..7].fill(true);
    assert_eq!(hot_racks(ring, &hot), [5]);
    assert_eq!(hot_groups(ring, &hot), [(4, 3)]);
    let plan = plan_detours(ring, &hot, &[40.0; 12], &[600.0; 12], LIMITS);
    let left: Vec<usize> = plan
        .detours
        .iter()
        .filter(|detour| detour.left)
        .map(|detour| detour.tor)
        .collect();
    let right: Vec<usize> = plan
        .detours
        .iter()
        .filter(|detour| !detour.left)
        .map(|detour| detour.tor)
        .collect();
    // With h = 1 a relay takes traffic from its rightmost ToR to its leftmost, two places on: ToRs
    // 3 and 2 need one relay, 1 and 0 two, 11 would need three.
    assert_eq!((left, right), (vec![3, 2, 1, 0], vec![7, 8, 9, 10]));
    assert_eq!(plan.detours[0].paths[0].steps, [5, 4, 3], "through B and R'");
    assert!(plan.withdrawn.is_empty());
    assert!(
        plan.detours
            .iter()
            .all(|detour| (detour.capacity - 24.0).abs() < 1e-9)
    );
}

#[test]
fn in_a_group_only_the_edges_detour_and_they_make_room() {
    let ring = Loop { size: 12, ports: 2 };
    let mut hot = vec![false; 12];
    hot[3..8].fill(true);
    // Racks 4 to 7 have both ToRs hot; 4 and 7 are the edges.
    assert_eq!(hot_racks(ring, &hot), [4, 5, 6, 7]);
    let plan = plan_detours(ring, &hot, &[40.0; 12], &[600.0; 12], LIMITS);
    for detour in &plan.detours {
        let source = if detour.left { 4 } else { 7 };
        assert!(detour.paths.iter().all(|path| path.source == source));
    }
    let tors: Vec<usize> = plan.detours.iter().map(|detour| detour.tor).collect();
    assert_eq!(tors, [2, 8, 1, 9], "two relays each way");
    assert_eq!(plan.withdrawn, [(4, 4), (7, 6)]);
}

#[test]
fn a_loop_hot_all_round_has_no_detour() {
    let ring = Loop { size: 6, ports: 2 };
    let plan = plan_detours(ring, &[true; 6], &[40.0; 6], &[600.0; 6], LIMITS);
    assert!(plan.detours.is_empty());
}

#[test]
fn heat_lasts() {
    let mut spots = HotSpots::new(2, 0.6, 1.0);
    assert_eq!(spots.observe(0.0, &[0.7, 0.6]), [true, false]);
    assert_eq!(spots.observe(0.5, &[0.1, 0.1]), [true, false]);
    assert_eq!(spots.observe(1.1, &[0.1, 0.61]), [false, true]);
}
