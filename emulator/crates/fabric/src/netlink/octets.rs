//! Finds the positions of the bytes of IPv6 packets among an interface's counters. They changed in
//! kernel 6.18, and a dump does not name them. Therefore the code sends a packet of a known length
//! and looks which counters change. `[measured]`

use std::net::{Ipv6Addr, UdpSocket};
use std::sync::LazyLock;
use std::time::Duration;

use nix::sched::CloneFlags;

use super::link::{ipv6_counters, link_dump, set_up};
use super::message::Batch;
use super::socket::{Netlink, no_excuse};
use crate::host::namespace::set_sysctl;
use crate::names::LOOPBACK_INDEX;

const PAYLOAD_BYTES: usize = 1003;
/// Length of the packet with the headers of IPv6 and UDP.
const PACKET_BYTES: u64 = PAYLOAD_BYTES as u64 + 40 + 8;

/// Positions of the counters of received and sent bytes; `None` where the kernel has no IPv6.
/// Determined once, in a separate namespace.
pub(super) static PLACES: LazyLock<Option<[usize; 2]>> =
    LazyLock::new(|| std::thread::spawn(find).join().ok().flatten());

fn find() -> Option<[usize; 2]> {
    nix::sched::unshare(CloneFlags::CLONE_NEWNET).ok()?;
    set_sysctl("ipv6/conf/all/disable_ipv6", "0").ok()?;
    let mut netlink = Netlink::open().ok()?;
    let mut batch = Batch::new();
    set_up(&mut batch, LOOPBACK_INDEX, true);
    netlink.run(&mut batch, no_excuse).ok()?;
    let socket = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).ok()?;
    socket.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    socket
        .send_to(&[0; PAYLOAD_BYTES], socket.local_addr().ok()?)
        .ok()?;
    socket.recv(&mut [0; PAYLOAD_BYTES]).ok()?;
    let mut places = Vec::new();
    let of_packet = |counters: &[u8]| -> Vec<usize> {
        let words = counters.chunks_exact(8).enumerate();
        let matches = words.filter(|(_, word)| **word == PACKET_BYTES.to_ne_bytes());
        matches.map(|(at, _)| at).collect()
    };
    let dumped = netlink.dump(&mut link_dump(), |answer| {
        places.extend(ipv6_counters(&answer).map(of_packet).unwrap_or_default());
    });
    dumped.ok()?;
    // The counter of received bytes precedes that of sent bytes.
    places.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::traffic;

    #[test]
    fn packets_of_ipv6_are_counted_by_their_bytes() {
        if crate::host::probe::try_without_chips().is_err() {
            assert!(std::env::var_os("CI").is_none(), "in CI nothing may skip");
            return;
        }
        let counted = std::thread::spawn(|| {
            nix::sched::unshare(CloneFlags::CLONE_NEWNET).unwrap();
            set_sysctl("ipv6/conf/all/disable_ipv6", "0").unwrap();
            let mut netlink = Netlink::open().unwrap();
            let mut batch = Batch::new();
            set_up(&mut batch, LOOPBACK_INDEX, true);
            netlink.run(&mut batch, no_excuse).unwrap();
            let socket = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
            for bytes in [100, 200] {
                socket
                    .send_to(&vec![0; bytes], socket.local_addr().unwrap())
                    .unwrap();
            }
            traffic(&mut netlink).unwrap()[&LOOPBACK_INDEX].wrapped_bytes
        });
        assert_eq!(counted.join().unwrap(), [148 + 248; 2]);
    }
}
