//! Tests of the header's two layers: encoding and decoding returns the same value, damaged bytes
//! are rejected with a reason, and no bytes cause a panic.

use std::net::Ipv4Addr;

use cubeyard_dataplane::address::{MAX_SERVER, virtual_ip};
use cubeyard_dataplane::bcube::forwarding::SoftwareForwarding;
use cubeyard_dataplane::bcube::header::{FORMAT, HEADER_BYTES, Header, HeaderView, MAX_PAYLOAD_BYTES};
use cubeyard_dataplane::bcube::nha::Nha;
use cubeyard_dataplane::bcube::route::SourceRoute;
use cubeyard_dataplane::bcube::tables::{Config, NextHop};
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::forwarding::{Forwarding, Verdict};
use cubeyard_dataplane::frame::PacketBuffer;
use proptest::prelude::*;

fn server() -> impl Strategy<Value = Ipv4Addr> {
    (0..=MAX_SERVER).prop_map(|server| virtual_ip(server).unwrap())
}

prop_compose! {
    /// A header from a source, and the packet after it.
    fn packet()(
        source in server(),
        destination in server(),
        hops in prop::collection::vec(any::<u8>(), 1..=8),
        path_id in any::<u32>(),
        inner in prop::collection::vec(any::<u8>(), 20..200),
    ) -> (Header, Vec<u8>) {
        let route = SourceRoute::new(hops.into_iter().map(Nha)).unwrap();
        let header = Header::new(source, destination, route, path_id, inner.len()).unwrap();
        let mut packet = header.emit().to_vec();
        packet.extend(inner);
        (header, packet)
    }
}

/// A bit of a packet's header, to flip.
fn bit() -> impl Strategy<Value = (usize, u8)> {
    (0..HEADER_BYTES, 0u8..8).prop_map(|(at, bit)| (at, 1 << bit))
}

proptest! {
    #[test]
    fn a_value_survives_its_bytes((header, packet) in packet()) {
        let (view, inner) = HeaderView::parse(&packet).unwrap();
        prop_assert_eq!(Header::from(view), header);
        let emitted = Header::from(view).emit();
        prop_assert_eq!(&emitted[..], &packet[..HEADER_BYTES]);
        prop_assert_eq!(inner, &packet[HEADER_BYTES..]);
        prop_assert_eq!(view.next_hop(), header.route().hops().get(1).copied());
        // The description and the view agree on the option's bytes.
        let described = |name| FORMAT.values(&packet[20..], name).unwrap();
        prop_assert_eq!(described("next_hop_index"), vec![u32::from(view.next_hop_index())]);
        prop_assert_eq!(described("hops"), vec![u32::from(view.count())]);
        let path: Vec<u32> = header.route().hops().iter().map(|hop| u32::from(hop.0)).collect();
        prop_assert_eq!(&described("path")[..path.len()], &path[..]);
        let id = u32::from_be_bytes(packet[32..36].try_into().unwrap());
        prop_assert_eq!(described("path_id"), vec![id]);
    }

    #[test]
    fn every_flipped_bit_is_noticed((_, mut packet) in packet(), (at, bit) in bit()) {
        packet[at] ^= bit;
        let refused = HeaderView::parse(&packet).unwrap_err();
        prop_assert!(matches!(refused, DropReason::Malformed | DropReason::BadChecksum), "byte {at}: {refused}");
    }

    #[test]
    fn every_cut_is_noticed((_, packet) in packet(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(packet.len());
        prop_assert_eq!(HeaderView::parse(&packet[..cut]).unwrap_err(), DropReason::Malformed);
    }

    /// The whole path of a packet: each relay takes one hop, the checksum stays valid without being
    /// written again, and the destination receives what the source sent.
    #[test]
    fn a_packet_walks_its_path(hops in prop::collection::vec(any::<u8>(), 1..=8), payload in 0usize..100) {
        let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 99));
        let route = SourceRoute::new(hops.iter().copied().map(Nha)).unwrap();
        let mut inner = vec![0x45; 20 + payload];
        inner[12..16].copy_from_slice(&source.octets());
        inner[16..20].copy_from_slice(&destination.octets());
        let header = Header::new(source, destination, route, 7, inner.len()).unwrap();

        let mac = |server: usize| [2, 0xcb, 0, 0, 0, server as u8];
        let frame = [&mac(1)[..], &mac(0), &[8, 0], &header.emit(), &inner].concat();
        let mut buffer = PacketBuffer::of(0, &frame);
        for at in 1..=hops.len() {
            let last = at == hops.len();
            let ip = if last { destination } else { Ipv4Addr::new(10, 0, 0, 1 + at as u8) };
            let config = Config { ip: ip.octets(), vnic_mac: mac(at), mtu: 1500, ..Config::default() };
            let mut forwarding = SoftwareForwarding::default();
            forwarding.apply(&config.update()).unwrap();
            if !last {
                let next = NextHop { ifindex: 4, next_mac: mac(at + 1), own_mac: mac(at), up: 1, port: 4, ..NextHop::default() };
                forwarding.apply(&next.update(Nha(hops[at]))).unwrap();
            }
            let mut verdicts = Vec::new();
            forwarding.receive(0, &mut buffer, std::time::Duration::ZERO, &mut verdicts);
            let expected = if last { Verdict::Deliver } else { Verdict::Send { port: 4 } };
            prop_assert_eq!(&verdicts[..], &[expected][..], "hop {} of {}", at, hops.len());
            if last {
                prop_assert_eq!(&buffer.frame()[14..], &inner);
            }
        }
    }
}

#[test]
fn impossible_headers_are_refused() {
    let (source, outside) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(192, 0, 2, 1));
    let route = SourceRoute::new([Nha(1)]).unwrap();
    assert_eq!(
        Header::new(outside, source, route, 0, 20),
        Err(DropReason::Forged)
    );
    assert_eq!(
        Header::new(source, outside, route, 0, 20),
        Err(DropReason::Forged)
    );
    assert_eq!(
        Header::new(source, source, route, 0, MAX_PAYLOAD_BYTES + 1),
        Err(DropReason::TooBig)
    );
    assert!(Header::new(source, source, route, 0, MAX_PAYLOAD_BYTES).is_ok());
}
