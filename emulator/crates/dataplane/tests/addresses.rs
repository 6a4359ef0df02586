//! Addresses and routes go one to one to servers and back.

use std::net::Ipv4Addr;

use cubeyard_dataplane::address::{
    MAX_PORTS, MAX_SERVER, Nha, is_control, is_virtual, port_ip, port_mac, port_of, server_of, virtual_ip,
};
use cubeyard_dataplane::maps::Path;
use cubeyard_dataplane::route::SourceRoute;
use cubeyard_routing::bcube::{Shape, build_path_set};
use cubeyard_topology::{Topology, TopologySpec};
use proptest::prelude::*;
use serde_json::json;

fn shape(n: u32, k: u32) -> Shape {
    let spec = json!({"family": "bcube", "n": n, "k": k});
    let spec = TopologySpec::from_json(&spec).expect("a valid spec");
    Shape::new(&Topology::build(&spec).expect("a topology")).expect("a BCube")
}

proptest! {
    #[test]
    fn a_server_is_its_addresses(server in 0..=MAX_SERVER, port in 0..MAX_PORTS) {
        let virtual_ip = virtual_ip(server).unwrap();
        prop_assert!(is_virtual(virtual_ip) && !is_control(virtual_ip));
        prop_assert_eq!(server_of(virtual_ip), Some(server));
        let port_ip = port_ip(server, port).unwrap();
        prop_assert!(is_control(port_ip) && !is_virtual(port_ip));
        prop_assert_eq!(port_of(port_ip), Some((server, port)));
        let [local, _, mac_port, high, middle, low] = port_mac(server, port);
        prop_assert_eq!(local & 0b11, 0b10, "locally administered, one host's");
        prop_assert_eq!((mac_port, u32::from_be_bytes([0, high, middle, low])), (port, server));
    }

    #[test]
    fn an_address_is_at_most_one_server(bits in any::<u32>()) {
        let ip = Ipv4Addr::from_bits(bits);
        if let Some(server) = server_of(ip) {
            prop_assert_eq!(virtual_ip(server), Some(ip));
        }
        if let Some((server, port)) = port_of(ip) {
            prop_assert_eq!(port_ip(server, port), Some(ip));
        }
    }

    #[test]
    fn a_path_survives_its_bytes(n in 2u32..=5, k in 0u32..=3, from in any::<u32>(), to in any::<u32>()) {
        let shape = shape(n, k);
        let (from, to) = (from % shape.servers(), to % shape.servers());
        prop_assume!(from != to);
        for hops in build_path_set(&shape, from, to) {
            let servers: Vec<u32> = hops.iter().map(|hop| hop.server).collect();
            let route = SourceRoute::through(&shape, from, &servers).unwrap();
            prop_assert_eq!(route.servers(&shape, from), Some(servers));
            let levels: Vec<u32> = hops.iter().map(|hop| hop.level.into()).collect();
            prop_assert_eq!(route.hops().iter().map(|hop| hop.level()).collect::<Vec<_>>(), levels);
            let path = Path::new(virtual_ip(to).unwrap(), 7, &route);
            prop_assert_eq!(path.route(), Some(route));
        }
    }
}

#[test]
fn what_the_bytes_cannot_name_is_refused() {
    assert_eq!((virtual_ip(MAX_SERVER + 1), port_ip(0, MAX_PORTS)), (None, None));
    assert_eq!(
        (
            server_of(Ipv4Addr::new(10, 0, 0, 0)),
            port_of(Ipv4Addr::new(100, 64, 0, 0))
        ),
        (None, None)
    );
    assert_eq!(Nha::new(3, 63), Some(Nha(0xff)));
    assert_eq!((Nha::new(4, 0), Nha::new(0, 64)), (None, None));
    assert_eq!(SourceRoute::new([]), None);
    assert_eq!(SourceRoute::new([Nha(1); 9]), None);
    let shape = shape(4, 1);
    assert_eq!(SourceRoute::through(&shape, 0, &[5]), None, "two digits differ");
    assert_eq!(SourceRoute::through(&shape, 0, &[0]), None, "no digit differs");
    let outside = SourceRoute::new(Nha::new(2, 0)).unwrap();
    assert_eq!(outside.servers(&shape, 0), None, "no such level");
}
