//! BCube through the chip's tables takes the paths that BCube's source routes name
//! `[serverswitch §5.1]`, `[bcube §7.1]`.

use cubeyard_chip::bcube;
use cubeyard_chip::walk::{paths, walk};
use cubeyard_dataplane::address::virtual_ip;
use cubeyard_dataplane::bcube::nha::Nha;
use cubeyard_dataplane::bcube::route::SourceRoute;
use cubeyard_topology::TopologySpec;
use proptest::prelude::*;

#[test]
fn next_hops_and_addresses_are_the_same_bytes() {
    for level in 0..4 {
        for digit in 0..64 {
            assert_eq!(bcube::nha(level, digit), Nha::new(level as u32, digit).unwrap().0);
        }
    }
    for server in [0, 1, 255, 65_533] {
        assert_eq!(bcube::address(server), virtual_ip(server).unwrap());
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(64))]
    #[test]
    fn a_packet_visits_the_servers_of_its_source_route(
        (n, k) in prop_oneof![Just((4, 1)), Just((2, 3)), Just((3, 2)), Just((8, 1)), Just((5, 2))],
        ends in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let spec: TopologySpec = serde_json::from_value(serde_json::json!({"family": "bcube", "n": n, "k": k})).unwrap();
        let (topology, shape) = bcube::shape(&spec).unwrap();
        let servers = shape.servers() as usize;
        let (source, destination) = (ends.0.index(servers) as u32, ends.1.index(servers) as u32);
        prop_assume!(source != destination);
        for hops in paths(&shape, source, destination).unwrap() {
            let reached: Vec<u32> = hops.iter().map(|hop| hop.server).collect();
            let route = SourceRoute::through(&shape, source, &reached).unwrap();
            let walk = walk(&topology, &shape, source, &hops, b"").unwrap();
            let visited: Vec<u32> = walk.visits.iter().skip(1).map(|visit| visit.server).collect();
            prop_assert_eq!(Some(visited), route.servers(&shape, source));
            prop_assert!(walk.arrived);
            // The chip's header has the same bytes in reverse order.
            let packet = bcube::packet(source, &hops, &shape, b"").unwrap();
            let mut carried: Vec<u8> = packet[34..34 + hops.len()].to_vec();
            carried.reverse();
            prop_assert_eq!(&carried[..], &route.bytes()[..hops.len()]);
        }
    }
}
