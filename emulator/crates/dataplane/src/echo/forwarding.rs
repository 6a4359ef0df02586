//! Echo packets in user space: adds a header, looks up the destination, removes the header.

use std::collections::BTreeMap;

use cubeyard_topology::NodeId;
use zerocopy::FromBytes;

use super::header::{ETHERTYPE, HEADER_BYTES, Header, TTL};
use super::tables::{NEXT_HOPS, NextHop};
use crate::address::{is_control, server_of, virtual_ip, vnic_mac};
use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::{FLOWS, FlowCount, PORTS, Traffic};
use crate::drops::DropReason;
use crate::flow::Flow;
use crate::forwarding::{Forwarding, Verdict};
use crate::frame::{ETHERNET_BYTES, ETHERTYPE_ARP, ETHERTYPE_IPV4, PacketBuffer, set_addresses};
use crate::lru::Lru;
use crate::packet::Ipv4Packet;
use crate::protocol::Time;
use crate::tables::{TableError, TableUpdate};

/// Forwards the packets of one server.
#[derive(Debug)]
pub struct SoftwareForwarding {
    me: NodeId,
    mtu: usize,
    next_hops: BTreeMap<NodeId, NextHop>,
    flow_counts: Lru<Flow, FlowCount>,
    traffic: Traffic,
    drops: [u64; DropReason::COUNT],
}

/// The initial state: a server without next hops.
pub fn forwarding(configuration: &Configuration) -> Result<Box<dyn Forwarding>, ConfigurationError> {
    Ok(Box::new(SoftwareForwarding {
        me: configuration.server,
        mtu: configuration.mtu as usize,
        next_hops: BTreeMap::new(),
        flow_counts: Lru::new(FLOWS),
        traffic: Traffic::default(),
        drops: [0; DropReason::COUNT],
    }))
}

impl SoftwareForwarding {
    /// Addresses a frame to the next hop of a destination, counts it, and returns the port.
    fn hop(&mut self, destination: NodeId, packet: &mut PacketBuffer) -> Result<Verdict, DropReason> {
        let next = self.next_hops.get(&destination).ok_or(DropReason::NoPath)?;
        set_addresses(packet.frame_mut(), &next.next_mac, &next.own_mac);
        self.traffic.sent_packets[usize::from(next.port) % PORTS] += 1;
        Ok(Verdict::Send { port: next.port })
    }

    fn encapsulate(&mut self, packet: &mut PacketBuffer) -> Result<Verdict, DropReason> {
        let frame = packet.frame();
        let body = frame.get(ETHERNET_BYTES..).ok_or(DropReason::Malformed)?;
        if frame[12..ETHERNET_BYTES] != ETHERTYPE_IPV4 {
            return Err(DropReason::NotIp);
        }
        let inner = Ipv4Packet::parse(body).ok_or(DropReason::Malformed)?;
        if Some(inner.source()) != virtual_ip(self.me) {
            return Err(DropReason::Forged);
        }
        if body.len() + HEADER_BYTES > self.mtu {
            return Err(DropReason::TooBig);
        }
        let (flow, bytes) = (inner.flow(), body.len() as u64);
        let destination = server_of(inner.destination()).ok_or(DropReason::NoPath)?;
        if !packet.insert_header(HEADER_BYTES) {
            return Err(DropReason::AdjustFailed);
        }
        let header = Header {
            ttl: TTL,
            destination,
        };
        let frame = packet.frame_mut();
        frame[12..ETHERNET_BYTES].copy_from_slice(&ETHERTYPE);
        frame[ETHERNET_BYTES..ETHERNET_BYTES + HEADER_BYTES].copy_from_slice(&header.emit());
        let verdict = self.hop(destination, packet)?;
        let mut count = self.flow_counts.remove(&flow).unwrap_or_default();
        count.packets += 1;
        count.bytes += bytes;
        self.flow_counts.insert(flow, count);
        self.traffic.own_packets += 1;
        self.traffic.own_bytes += bytes;
        Ok(verdict)
    }

    fn take_in(&mut self, port: u8, packet: &mut PacketBuffer) -> Result<Verdict, DropReason> {
        let frame = packet.frame();
        let ethertype = frame.get(12..ETHERNET_BYTES).ok_or(DropReason::Malformed)?;
        if ethertype == ETHERTYPE_ARP {
            return Ok(Verdict::Pass);
        }
        let body = &frame[ETHERNET_BYTES..];
        if ethertype == ETHERTYPE_IPV4 {
            let inner = Ipv4Packet::parse(body).ok_or(DropReason::Malformed)?;
            let control = is_control(inner.destination());
            return control.then_some(Verdict::Pass).ok_or(DropReason::Foreign);
        }
        if ethertype != ETHERTYPE {
            return Err(DropReason::NotIp);
        }
        // A switch floods frames for addresses that it has not learnt.
        if frame[..6] != crate::address::port_mac(self.me, port) {
            return Err(DropReason::OtherHost);
        }
        let header = Header::parse(body).ok_or(DropReason::Malformed)?;
        let inner = Ipv4Packet::parse(&body[HEADER_BYTES..]).ok_or(DropReason::Malformed)?;
        let bytes = inner.total_bytes() as u64;
        if inner.total_bytes() < Ipv4Packet::LEAST_BYTES
            || ETHERNET_BYTES + HEADER_BYTES + inner.total_bytes() > frame.len()
        {
            return Err(DropReason::Malformed);
        }
        if header.destination == self.me {
            if Some(inner.destination()) != virtual_ip(self.me) {
                return Err(DropReason::Forged);
            }
            packet.truncate(ETHERNET_BYTES + HEADER_BYTES + bytes as usize);
            packet.remove_header(HEADER_BYTES);
            let frame = packet.frame_mut();
            frame[..6].copy_from_slice(&vnic_mac(self.me));
            frame[12..ETHERNET_BYTES].copy_from_slice(&ETHERTYPE_IPV4);
            self.traffic.delivered_packets += 1;
            self.traffic.delivered_bytes += bytes;
            return Ok(Verdict::Deliver);
        }
        if header.ttl <= 1 {
            return Err(DropReason::TtlExpired);
        }
        packet.frame_mut()[ETHERNET_BYTES + 1] -= 1;
        let verdict = self.hop(header.destination, packet)?;
        self.traffic.relayed_packets += 1;
        self.traffic.relayed_bytes += bytes;
        Ok(verdict)
    }

    fn conclude(&mut self, outcome: Result<Verdict, DropReason>) -> Verdict {
        outcome.unwrap_or_else(|reason| {
            self.drops[reason.index()] += 1;
            Verdict::Drop(reason)
        })
    }
}

impl Forwarding for SoftwareForwarding {
    fn headroom_bytes(&self) -> usize {
        HEADER_BYTES
    }

    fn send(&mut self, packet: &mut PacketBuffer, _now: Time, out: &mut Vec<Verdict>) {
        let sent = self.encapsulate(packet);
        out.push(self.conclude(sent));
    }

    fn receive(&mut self, port: u8, packet: &mut PacketBuffer, _now: Time, out: &mut Vec<Verdict>) {
        let received = self.take_in(port, packet);
        out.push(self.conclude(received));
    }

    fn apply(&mut self, update: &TableUpdate) -> Result<(), TableError> {
        let wrong = || TableError::new(&update.table, "no such entry");
        let key = update.key.0[..].try_into().map_err(|_| wrong())?;
        let destination = NodeId::from_ne_bytes(key);
        if update.table != NEXT_HOPS {
            return Err(wrong());
        }
        match &update.value {
            Some(value) => {
                let next_hop = NextHop::read_from_bytes(&value.0).map_err(|_| wrong())?;
                self.next_hops.insert(destination, next_hop);
            }
            None => drop(self.next_hops.remove(&destination)),
        }
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn drops(&self) -> &[u64; DropReason::COUNT] {
        &self.drops
    }

    fn flow_counts(&self) -> Vec<(Flow, FlowCount)> {
        let counts = self.flow_counts.iter();
        counts.map(|(flow, count)| (*flow, *count)).collect()
    }

    fn take_notices(&mut self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}
