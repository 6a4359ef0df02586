//! Which next hop Linux takes for a flow, so that a path can be known from the tables: the hash of
//! a five-tuple by a seed (`fib_multipath_hash_policy` 3 with `fib_multipath_hash_seed`, Linux 6.11
//! and later) and the member of a group that a hash chooses.
//! `[linux net/ipv4/route.c, net/core/flow_dissector.c, net/ipv4/nexthop.c]`
//!
//! Both directions of a flow have the same hash.

use cubeyard_topology::NodeId;

use crate::path::link_of;
use crate::random::mix;
use crate::tables::{Hop, Prefix, Tables};

/// The fields of the hash: both addresses, the protocol and both ports.
pub const FIELDS: u32 = 0x37;
/// The most links that a path has: up and down a fat-tree of 16 layers.
const MAX_LINKS: usize = 34;
/// The part of the kernel's `struct flow_keys` that is hashed, in bytes, including its padding, and
/// the offsets of the fields.
const KEY_BYTES: usize = 48;
const PROTOCOL_AT: usize = 2;
const PORTS_AT: usize = 28;
const ADDRESSES_AT: usize = 36;
/// The port that flow 0 is sent to. `[ours]`
pub const FIRST_PORT: u16 = 5201;
/// The source port of flow 0: above the ports to which flows are sent, below the ephemeral ports of
/// Linux. `[ours]`
const FIRST_SOURCE_PORT: u16 = 20_000;
/// Flows below this number have their own source ports.
const FIXED_FLOWS: u32 = 12_000;

/// A flow's five-tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiveTuple {
    /// Source and destination address, in network order.
    pub addresses: [[u8; 4]; 2],
    /// The protocol number in the IP header.
    pub protocol: u8,
    /// Source and destination port.
    pub ports: [u16; 2],
}

/// The port that a flow of this number is sent to; `None` for a number that is too large.
pub fn port(flow: u32) -> Option<u16> {
    u16::try_from(flow).ok()?.checked_add(FIRST_PORT)
}

/// The port that a flow of this number is sent from, so that its path is known before its first
/// packet; `None` for a flow that gets any port.
pub fn source_port(flow: u32) -> Option<u16> {
    (flow < FIXED_FLOWS).then(|| FIRST_SOURCE_PORT + flow as u16)
}

/// The same for a subflow, numbered over all connections: from the other end of the ports, so that
/// no flow of another transport, of which the kernel keeps the port for a while, has the same one.
/// `[ours]`
pub fn subflow_port(number: u32) -> Option<u16> {
    source_port((FIXED_FLOWS - 1).checked_sub(number)?)
}

/// The seed of a node's hash in a run; never 0, which would let the kernel choose one.
pub fn seed_of(run_seed: u64, node: NodeId) -> u32 {
    (mix(run_seed ^ mix(node.into())) as u32).max(1)
}

/// The hash, of 31 bits, by which the server that sends a flow chooses its first hop.
pub fn sent(seed: u32, flow: &FiveTuple) -> u32 {
    keyed(seed, flow) >> 1
}

/// The hash, of 31 bits, by which a router chooses the next hop of a flow.
pub fn forwarded(seed: u32, flow: &FiveTuple) -> u32 {
    // The second word is the hash of an inner packet, of which there is none.
    jhash_2words(keyed(seed, flow), 0) >> 1
}

/// The member of a group that a hash of 31 bits chooses.
pub fn member(group: &[Hop], hash: u32) -> Option<&Hop> {
    let total: u64 = group.iter().map(|hop| u64::from(hop.weight)).sum();
    let mut weight = 0;
    group.iter().find(|hop| {
        weight += u64::from(hop.weight);
        // Each member has the hashes up to its bound, rounded to the closest.
        u64::from(hash) < ((weight << 31) + total / 2) / total
    })
}

/// The next hops of a flow from a server to another; `None` if the tables do not lead there.
pub fn path(tables: &Tables, run_seed: u64, ends: [NodeId; 2], flow: &FiveTuple) -> Option<Vec<Hop>> {
    path_by_ports(tables, run_seed, ends, [None; 2], flow)
}

/// The same for a flow from or to the address of a port, if `by_port` names it.
pub fn path_by_ports(
    tables: &Tables,
    run_seed: u64,
    ends: [NodeId; 2],
    by_port: [Option<u8>; 2],
    flow: &FiveTuple,
) -> Option<Vec<Hop>> {
    let [mut at, destination] = ends;
    let to = by_port[1].map_or(Prefix::Server(destination), |port| {
        Prefix::Port(destination, port)
    });
    let mut path: Vec<Hop> = Vec::new();
    while at != destination {
        let entered_by = path.last().map(|hop| link_of(hop.directed));
        let seed = seed_of(run_seed, at);
        let hash = if path.is_empty() {
            sent(seed, flow)
        } else {
            forwarded(seed, flow)
        };
        let prefix = match by_port[0] {
            Some(port) if path.is_empty() => Prefix::From(port),
            _ => to,
        };
        let hop = *member(tables.of(at).hops_entering(entered_by, prefix), hash)?;
        at = hop.far;
        path.push(hop);
        for relay in hop.relays.into_iter().flatten() {
            path.push(Hop::straight(relay.down, relay.server, 1));
            path.push(Hop::straight(relay.up, relay.tor, 1));
            at = relay.tor;
        }
        if let Some(arrival) = hop.arrival {
            path.push(Hop::straight(arrival.down, arrival.server, 1));
            at = arrival.server;
        }
        if path.len() > MAX_LINKS {
            return None;
        }
    }
    Some(path)
}

fn keyed(seed: u32, flow: &FiveTuple) -> u32 {
    let [source, destination] = flow.addresses;
    let [mut low, mut high] = [source, destination];
    // The kernel compares the words as they are in memory.
    if u32::from_ne_bytes(high) < u32::from_ne_bytes(low) {
        (low, high) = (high, low);
    }
    let [mut first, mut second] = flow.ports.map(u16::to_be_bytes);
    if u16::from_ne_bytes(second) < u16::from_ne_bytes(first) {
        (first, second) = (second, first);
    }
    let mut key = [0; KEY_BYTES];
    key[PROTOCOL_AT] = flow.protocol;
    key[PORTS_AT..PORTS_AT + 2].copy_from_slice(&first);
    key[PORTS_AT + 2..PORTS_AT + 4].copy_from_slice(&second);
    key[ADDRESSES_AT..ADDRESSES_AT + 4].copy_from_slice(&low);
    key[ADDRESSES_AT + 4..ADDRESSES_AT + 8].copy_from_slice(&high);
    let word = u64::from(seed) << 32 | u64::from(seed);
    // A hash of 0 means that there is none.
    (siphash(&key, [word; 2]) as u32).max(1)
}

/// SipHash-2-4. `[Aumasson, Bernstein 2012]`
fn siphash(bytes: &[u8], key: [u64; 2]) -> u64 {
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = bytes.len() as u8;
    for word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(*word);
        v[3] ^= word;
        rounds(&mut v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    rounds(&mut v, 4);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn rounds(v: &mut [u64; 4], count: u32) {
    for _ in 0..count {
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    }
}

/// Linux's `jhash_2words` with the initial value 0.
fn jhash_2words(first: u32, second: u32) -> u32 {
    const START: u32 = 0xdead_beef + (2 << 2);
    let (mut a, mut b, mut c) = (first.wrapping_add(START), second.wrapping_add(START), START);
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hops(weights: &[u32]) -> Vec<Hop> {
        let hop = |(at, &weight): (usize, &u32)| Hop::straight(at as u32, 0, weight);
        weights.iter().enumerate().map(hop).collect()
    }

    #[test]
    fn no_flow_is_sent_from_a_port_that_another_is_sent_to_or_that_linux_gives_away() {
        assert_eq!(
            [port(0), port(60_334), port(60_335)],
            [Some(5201), Some(u16::MAX), None]
        );
        let last = FIXED_FLOWS - 1;
        assert!(port(last) < source_port(0));
        assert!(source_port(last).unwrap() < 32_768);
        assert_eq!(source_port(FIXED_FLOWS), None);
    }

    proptest! {
        #[test]
        #[allow(deprecated, reason = "the standard library's own SipHash-2-4 is the oracle")]
        fn siphash_is_that_of_the_standard_library(bytes in prop::collection::vec(any::<u8>(), 0..80), key: [u64; 2]) {
            use std::hash::Hasher;
            let mut oracle = std::hash::SipHasher::new_with_keys(key[0], key[1]);
            oracle.write(&bytes);
            prop_assert_eq!(siphash(&bytes, key), oracle.finish());
        }

        #[test]
        fn both_directions_have_one_hash(addresses: [[u8; 4]; 2], protocol: u8, ports: [u16; 2], seed: u32) {
            let flow = FiveTuple { addresses, protocol, ports };
            let back = FiveTuple { addresses: [addresses[1], addresses[0]], protocol, ports: [ports[1], ports[0]] };
            prop_assert_eq!(sent(seed, &flow), sent(seed, &back));
            prop_assert!(forwarded(seed, &flow) < 1 << 31);
        }

        #[test]
        fn every_hash_has_a_member_and_members_are_as_likely_as_they_weigh(
            weights in prop::collection::vec(1u32..=256, 1..20), hash in 0u32..1 << 31,
        ) {
            let group = hops(&weights);
            let total: u32 = weights.iter().sum();
            let chosen = member(&group, hash).expect("a member").directed as usize;
            let before: u32 = weights[..chosen].iter().sum();
            let at = f64::from(hash) / f64::from(1u32 << 31) * f64::from(total);
            prop_assert!(at > f64::from(before) - 1e-3 && at < f64::from(before + weights[chosen]) + 1e-3);
        }
    }
}
