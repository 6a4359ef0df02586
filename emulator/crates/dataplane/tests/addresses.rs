//! Tests that addresses and servers correspond one to one.

use std::net::Ipv4Addr;

use cubeyard_dataplane::address::{
    MAX_PORTS, MAX_SERVER, is_control, is_virtual, port_ip, port_mac, port_of, server_of, virtual_ip,
};
use proptest::prelude::*;

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
}

#[test]
fn devices_without_an_address_are_refused() {
    assert_eq!((virtual_ip(MAX_SERVER + 1), port_ip(0, MAX_PORTS)), (None, None));
    let networks = (Ipv4Addr::new(10, 0, 0, 0), Ipv4Addr::new(100, 64, 0, 0));
    assert_eq!((server_of(networks.0), port_of(networks.1)), (None, None));
}
