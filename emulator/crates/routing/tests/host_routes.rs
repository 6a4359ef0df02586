//! Static routes for labs: following them leads from any server to any other, for every choice
//! within a group.

use crate::common;

use common::build;
use cubeyard_routing::host_routes::{HostRoute, NextHop, host_routes};
use cubeyard_topology::{NodeId, Topology};
use proptest::prelude::*;

fn any_network() -> impl Strategy<Value = Topology> {
    prop_oneof![
        (2u32..5, 0u32..3).prop_map(|(n, k)| format!(r#"{{"family":"bcube","n":{n},"k":{k}}}"#)),
        (2u32..5).prop_map(|n| format!(r#"{{"family":"dcell","n":{n},"k":1}}"#)),
        (1u32..4, 2u32..4, 2u32..5)
            .prop_map(|(x, y, z)| format!(r#"{{"family":"torus3d","x":{x},"y":{y},"z":{z}}}"#)),
        (1u32..4).prop_map(|half| format!(r#"{{"family":"fat_tree","ports":{},"layers":3}}"#, 2 * half)),
        (1u32..6, 1u32..30)
            .prop_map(|(e, s)| format!(r#"{{"family":"tree","edge_ports":{e},"servers":{s}}}"#)),
        (0u32..3).prop_map(|t| format!(
            r#"{{"family":"subways","type":{t},"p":2,"q":4,"l":4,"c":2,"clusters":4}}"#
        )),
    ]
    .prop_map(|spec| build(&spec))
}

fn hops_to(routes: &[HostRoute], destination: NodeId) -> &[NextHop] {
    let at = routes.partition_point(|route| route.last < destination);
    routes
        .get(at)
        .filter(|route| route.first <= destination)
        .map_or(&[], |route| &route.hops)
}

/// Whether a packet sent into the link at `from` can be received by `to`: at its other end, or
/// beyond a bridge.
fn receives(topology: &Topology, from: NodeId, hop: NextHop) -> bool {
    let links = topology.links();
    let (a, b) = (links.a[hop.link as usize], links.b[hop.link as usize]);
    let far = if a == from { b } else { a };
    let beyond_bridge = topology.servers_relay()
        && !topology.is_server(far)
        && topology
            .adjacency()
            .row(far)
            .any(|(neighbour, _)| neighbour == hop.via);
    (a == from || b == from) && (far == hop.via || beyond_bridge)
}

proptest! {
    #![proptest_config(crate::cases::cases(60))]

    #[test]
    fn the_routes_lead_from_any_server_to_any_other(topology in any_network(), picks in prop::collection::vec(0usize..7, 12)) {
        let routes = host_routes(&topology);
        for source in 0..topology.server_count() {
            for destination in (0..topology.server_count()).filter(|&server| server != source) {
                let (mut at, mut steps) = (source, 0);
                while at != destination {
                    let hops = hops_to(&routes[at as usize], destination);
                    prop_assert!(!hops.is_empty(), "{} has no route to {}", topology.node_name(at), topology.node_name(destination));
                    let hop = hops[picks[steps % picks.len()] % hops.len()];
                    prop_assert!(receives(&topology, at, hop), "{} {hop:?}", topology.node_name(at));
                    at = hop.via;
                    steps += 1;
                    prop_assert!(steps <= topology.node_count() as usize, "a loop");
                }
            }
        }
    }

    #[test]
    fn routes_are_in_order_and_do_not_overlap(topology in any_network()) {
        for (node, routes) in host_routes(&topology).iter().enumerate() {
            prop_assert!(routes.iter().all(|route| route.first <= route.last && !route.hops.is_empty()));
            prop_assert!(routes.windows(2).all(|pair| pair[0].last < pair[1].first));
            let itself = node as NodeId;
            prop_assert!(routes.iter().all(|route| !(route.first..=route.last).contains(&itself)));
            let bridge = topology.servers_relay() && !topology.is_server(itself);
            prop_assert!(!bridge || routes.is_empty());
        }
    }
}

#[test]
fn a_bcube_server_crosses_one_switch_a_hop() {
    let topology = build(r#"{"family":"bcube","n":4,"k":1}"#);
    let routes = host_routes(&topology);
    // Server 00 reaches 01, 02 and 03 by its port of level 0, the others by way of 10, 20 or 30 or
    // their own rows.
    let to_01 = hops_to(&routes[0], 1);
    assert_eq!(to_01, [NextHop { link: 0, via: 1 }]);
    assert_eq!(
        hops_to(&routes[0], 4)[0].via,
        4,
        "10 is on the same switch of level 1"
    );
    assert!(routes[16].is_empty(), "a switch is a bridge");
}
