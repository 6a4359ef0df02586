//! Unmodified TCP and UDP through real interfaces, over BCube's own fast path and over
//! ServerSwitch's chip. Needs root; fails in CI without it.

use crate::chain;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use chain::{Chain, Dataplane, block, nha_on, send_over_tcp};
use cubeyard_dataplane::address::virtual_ip;
use cubeyard_dataplane::bcube::tables::{NEW_FLOW, NEXT_HOP_DEAD};
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::flow::Flow;

const MTU: u32 = 9000;
const FAST_PATHS: [Dataplane; 2] = [Dataplane::FastPath, Dataplane::Chip];
const TCP: u8 = 6;
const UDP: u8 = 17;

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn tcp_goes_through_relays_in_whole_super_packets() {
    let cases = FAST_PATHS
        .into_iter()
        .flat_map(|dataplane| (0..=2).map(move |relays| (dataplane, relays)));
    for (dataplane, relays) in cases {
        let Some(mut chain) = Chain::new(relays + 2, dataplane, MTU) else {
            return;
        };
        let blocks = 64;
        let transfer = send_over_tcp(&chain, blocks, true);
        assert!(
            transfer.received == (0..blocks).flat_map(block).collect::<Vec<u8>>(),
            "{relays} relays"
        );

        let last = chain.servers.len() - 1;
        let (first, end) = (chain.servers[0].traffic(), chain.servers[last].traffic());
        assert_eq!(first.own_bytes, end.delivered_bytes);
        assert_eq!(
            first.own_packets, end.delivered_packets,
            "super-packets count as the packets in them"
        );
        for relay in 1..last {
            let traffic = chain.servers[relay].traffic();
            assert_eq!(traffic.relayed_bytes, first.own_bytes + end.own_bytes);
            assert_eq!(traffic.relayed_packets, first.own_packets + end.own_packets);
            let per_super_packet = received_bytes_per_packet(&chain, relay);
            assert!(
                per_super_packet > 2.0 * f64::from(MTU),
                "{per_super_packet:.0} bytes arrive at a time"
            );
        }
        for server in &mut chain.servers {
            let traffic = server.traffic();
            let sent: u64 = traffic.sent_packets.iter().sum();
            assert_eq!(sent, traffic.own_packets + traffic.relayed_packets);
            assert_eq!(server.drops(), []);
        }
        let notices = chain.servers[0].notices();
        let new: Vec<_> = notices.iter().filter(|notice| notice.kind == NEW_FLOW).collect();
        assert_eq!(new.len(), 1, "one flow, reported once");
        assert_eq!((new[0].flow.proto, new[0].flow.destination_port()), (TCP, 5201));
    }
}

/// A super-packet from one write can end in a packet of any length, even with a single byte of
/// data. It counts as a packet at every server.
#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn the_last_packet_of_a_super_packet_counts_however_short() {
    for dataplane in FAST_PATHS {
        let Some(mut chain) = Chain::new(3, dataplane, MTU) else {
            return;
        };
        let lengths: Vec<usize> = (30_000..40_000).step_by(7).collect();
        exchange(&chain, &lengths);
        let [first, relay, last] = [0, 1, 2].map(|server| chain.servers[server].traffic());
        assert_eq!(first.own_packets, last.delivered_packets);
        assert_eq!(last.own_packets, first.delivered_packets);
        assert_eq!(relay.relayed_packets, first.own_packets + last.own_packets);
    }
}

/// Writes this many bytes each time from the first server to the last, which answers each write
/// with a byte.
fn exchange(chain: &Chain, lengths: &[usize]) {
    let last = chain.servers.len() - 1;
    let listener = chain.servers[last]
        .namespace
        .run(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 5201)).unwrap());
    let (to, told) = ((chain.ip(last), 5201), lengths.to_vec());
    let answering = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for length in told {
            stream.read_exact(&mut vec![0; length]).unwrap();
            stream.write_all(&[1]).unwrap();
        }
    });
    let mut stream = chain.servers[0]
        .namespace
        .run(move || TcpStream::connect(to).unwrap());
    stream.set_nodelay(true).unwrap();
    for &length in lengths {
        stream.write_all(&vec![0; length]).unwrap();
        stream.read_exact(&mut [0]).unwrap();
    }
    drop(stream);
    answering.join().unwrap();
}

/// Mean length of the packets that the interface towards the sender has received.
fn received_bytes_per_packet(chain: &Chain, server: usize) -> f64 {
    let shown = chain.servers[server].namespace.ip("-j -s link show p0");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let number = |name: &str| shown[0]["stats64"]["rx"][name].as_f64().unwrap();
    number("bytes") / number("packets")
}

/// A socket on a server's virtual address.
fn socket(chain: &Chain, server: usize, port: u16) -> UdpSocket {
    let ip = chain.ip(server);
    chain.servers[server].namespace.run(move || {
        let socket = UdpSocket::bind((ip, port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        socket
    })
}

/// One test over one chain, since the kernel takes a second of a processor to verify the programs
/// of each server.
#[test]
fn datagrams_arrive_and_what_is_not_the_fast_paths_own_does_not_come_in_by_a_port() {
    for dataplane in FAST_PATHS {
        let Some(mut chain) = Chain::new(3, dataplane, MTU) else {
            return;
        };
        arrive_short_empty_and_in_fragments(&mut chain);
        a_forged_packet_does_not(&mut chain);
    }
}

fn arrive_short_empty_and_in_fragments(chain: &mut Chain) {
    let (from, to) = (socket(chain, 0, 7000), socket(chain, 2, 7001));
    for length in [0, 1, 1400, 8964 - 28, 8964 - 27, 60_000] {
        let sent: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        from.send_to(&sent, to.local_addr().unwrap()).unwrap();
        let mut received = vec![0; 65_536];
        let (count, source) = to.recv_from(&mut received).unwrap();
        assert_eq!(
            (&received[..count], source),
            (&sent[..], from.local_addr().unwrap())
        );
    }
    // Whole datagrams have ports, fragments have none. So there are two flows.
    let flows: Vec<Flow> = chain.servers[0]
        .notices()
        .iter()
        .map(|event| event.flow)
        .collect();
    let (source, destination) = (virtual_ip(0).unwrap(), virtual_ip(2).unwrap());
    let expected =
        [(7000, 7001), (0, 0)].map(|(sport, dport)| Flow::new(source, destination, UDP, sport, dport));
    assert_eq!(flows, expected);
}

/// The sender writes a packet without a header, for its neighbour's virtual address, directly to
/// its port, as a forger would.
fn a_forged_packet_does_not(chain: &mut Chain) {
    chain.servers[0]
        .namespace
        .ip("route add 10.0.0.2/32 dev p1 src 10.0.0.1");
    chain.servers[0]
        .namespace
        .ip("neigh add 10.0.0.2 dev p1 lladdr 02:cb:00:00:00:01");
    let (from, to) = (socket(chain, 0, 7000), socket(chain, 1, 7001));
    from.send_to(b"forged", to.local_addr().unwrap()).unwrap();
    assert!(to.recv_from(&mut [0; 16]).is_err());
    assert_eq!(chain.servers[1].drops(), [(DropReason::Foreign, 1)]);
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn a_dead_next_hop_is_reported_and_a_live_one_carries_again() {
    for dataplane in FAST_PATHS {
        let Some(mut chain) = Chain::new(4, dataplane, MTU) else {
            return;
        };
        let (from, to) = (socket(&chain, 0, 7000), socket(&chain, 3, 7001));
        let exchange = || {
            from.send_to(b"hello", to.local_addr().unwrap()).unwrap();
            to.recv_from(&mut [0; 16]).map(|(count, _)| count).ok()
        };
        assert_eq!(exchange(), Some(5));
        chain.servers[1].set_next_up(false);
        assert_eq!(exchange(), None);
        assert_eq!(chain.servers[1].drops(), [(DropReason::NextHopDead, 1)]);
        let notices = chain.servers[1].notices();
        assert_eq!(notices.len(), 1);
        let (source, destination) = (virtual_ip(0).unwrap(), virtual_ip(3).unwrap());
        assert_eq!(
            (notices[0].kind, notices[0].nha, notices[0].path_id),
            (NEXT_HOP_DEAD, nha_on().0.into(), 3)
        );
        assert_eq!(
            (notices[0].src, notices[0].dst),
            (source.octets(), destination.octets())
        );
        assert_eq!(notices[0].flow, Flow::new(source, destination, UDP, 7000, 7001));
        chain.servers[1].set_next_up(true);
        assert_eq!(exchange(), Some(5));
    }
}
