//! Detours in the kernel: next hops that encapsulate packets with a list of relays, and the routes
//! by which relays and ToRs forward encapsulated packets. `[subways §6]`
//!
//! The list is an IPv6 header, plus a segment routing header for more than one relay (RFC 8754). It
//! replaces the paper's nested headers; the next hop comes last. Encapsulated packets are the only
//! IPv6 packets of a network.

use std::net::Ipv6Addr;

use cubeyard_dataplane::address::{
    SEGMENT_PREFIX_BITS, arrival_segment, detour_source, exit_segment, segment,
};
use cubeyard_routing::tables::{Balance, Hop, MAX_RELAYS, Segment};

use super::table::far_end;
use crate::names::LOOPBACK_INDEX;
use crate::netlink::{
    Batch, SegmentAction, add_address_v6, add_neighbour_v6, add_next_hop_by_segments, add_segment_route,
    delete_segment_route,
};
use crate::network::{Network, Place};

/// The address that routes use for the other end of any link.
const FAR_END: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const HOST_BITS: u8 = 128;
/// Maximum bytes around a packet: an IPv6 header, and the list without its first segment.
const WRAPPING_BYTES: u32 = 40 + 8 + 16 * MAX_RELAYS as u32;

/// Settings of a node that forwards encapsulated packets: IPv6 with only the addresses that we
/// assign.
pub fn sysctls(network: &Network) -> Vec<(&'static str, String)> {
    if !has_detours(network) {
        return Vec::new();
    }
    let settings = [
        ("ipv6/conf/default/accept_ra", "0"),
        // Without an automatic IPv6 address, which the interface would announce.
        ("ipv6/conf/default/addr_gen_mode", "1"),
        ("ipv6/conf/default/disable_ipv6", "0"),
        ("ipv6/conf/all/disable_ipv6", "0"),
        ("ipv6/conf/all/forwarding", "1"),
    ];
    settings.map(|(name, value)| (name, value.to_owned())).to_vec()
}

/// Assigns the source address for detours to a server or switch.
pub fn add_source(batch: &mut Batch, network: &Network, node: u32) {
    if has_detours(network) {
        add_address_v6(batch, LOOPBACK_INDEX, detour_source(node));
    }
}

/// MTU of interfaces, in bytes: with detours, it includes the header that a switch adds to packets.
pub fn interface_mtu(network: &Network) -> u32 {
    let wrapping = if has_detours(network) { WRAPPING_BYTES } else { 0 };
    network.description.mtu + wrapping
}

/// Maximum length of packets that a server sends, if it is shorter than its interfaces allow.
pub(super) fn route_mtu(network: &Network, node: Place) -> Option<u32> {
    let is_server = matches!(node, Place::Server { .. });
    (is_server && has_detours(network)).then_some(network.description.mtu)
}

fn has_detours(network: &Network) -> bool {
    let routing = network.routing.as_ref();
    routing.is_some_and(|routing| routing.balance() == Balance::ByDetour)
}

/// Adds the next hop of a detour. Its segments are all relays, and then the ToR or server that
/// removes the outer header.
pub(super) fn add_hop(put: &mut Batch, network: &Network, node: Place, id: u32, hop: &Hop) {
    let Some(far) = far_end(network, node, hop.directed) else {
        return;
    };
    let mut last = hop.far;
    let mut segments = Vec::with_capacity(hop.relays.len() + 1);
    for relay in hop.relays.iter().flatten() {
        segments.push(segment(relay.from, relay.server, relay.tor));
        last = relay.tor;
    }
    segments.push(match hop.arrival {
        Some(arrival) => arrival_segment(last, arrival.server),
        None => exit_segment(last),
    });
    add_next_hop_by_segments(put, id, far.index, far.address, &segments);
}

/// The destination network of a segment's route, unique at the node.
pub(super) fn network_of(network: &Network, node: Place, route: &Segment) -> (Ipv6Addr, u8) {
    let [by_tor, by_relay] = SEGMENT_PREFIX_BITS;
    let id = match node {
        Place::Server { server, .. } => network.description.servers[server].id,
        Place::Switch { switch, .. } => network.description.switches[switch].id,
    };
    match *route {
        Segment::Toward { tor, .. } => (segment(tor, 0, 0), by_tor),
        Segment::Below { server, .. } => (segment(id, server, 0), by_relay),
        Segment::Relay { from, to, .. } => (segment(from, id, to), HOST_BITS),
        Segment::Arrival { from, .. } => (arrival_segment(from, id), HOST_BITS),
        Segment::Exit { .. } => (exit_segment(id), HOST_BITS),
    }
}

/// Adds the route of a segment.
pub(super) fn add_segment(put: &mut Batch, network: &Network, node: Place, route: &Segment) {
    let (to, prefix_bits) = network_of(network, node, route);
    let (over, action) = match *route {
        Segment::Toward { directed, .. } | Segment::Below { directed, .. } => {
            (directed, SegmentAction::Forward(FAR_END))
        }
        Segment::Relay { over, to, .. } => (over, SegmentAction::GoOn(exit_segment(to))),
        Segment::Arrival { over, .. } | Segment::Exit { over } => (over, SegmentAction::Unwrap),
    };
    let Some(far) = far_end(network, node, over) else {
        return;
    };
    if action == SegmentAction::Forward(FAR_END) {
        add_neighbour_v6(put, far.index, FAR_END, &far.mac);
    }
    add_segment_route(put, to, prefix_bits, far.index, action);
}

/// Removes the route of a segment.
pub(super) fn delete_segment(remove: &mut Batch, (to, prefix_bits): (Ipv6Addr, u8)) {
    delete_segment_route(remove, to, prefix_bits);
}
