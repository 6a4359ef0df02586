//! DCell packets in user space, with the same effect as the programs in `bpf/dcell/`, frame by
//! frame `[dcell §7.2]`. Tests compare both with `vectors/dcell/forwarding.json`, and with each
//! other.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_topology::NodeId;
use zerocopy::{FromBytes, IntoBytes};

use super::header::{HEADER_BYTES, HeaderView, Rerouting, is_header, put_on, set_rerouting};
use super::header::{take_hop, take_off};
use super::rules::own_entries;
use super::tables::{
    CONFIG, Choice, Config, FIB, FLOW_COUNTS, HOPS, NEW_FLOW, NST, NextHop, Notice, REROUTED, Route, SCHEMAS,
};
use crate::address::{is_control, server_of};
use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::{FLOWS, FlowCount, PORTS, Traffic};
use crate::drops::DropReason;
use crate::flow::Flow;
use crate::forwarding::{Forwarding, Verdict};
use crate::frame::{ETHERNET_BYTES, ETHERTYPE_ARP, ETHERTYPE_IPV4, PacketBuffer, set_addresses};
use crate::lru::Lru;
use crate::packet::Ipv4Packet;
use crate::protocol::Time;
use crate::rate_limit::{RateLimit, notices};
use crate::tables::{TableError, TableUpdate, array_index, set_up};

/// Bytes in front of the option.
const BEFORE_OPTION: usize = ETHERNET_BYTES + Ipv4Packet::LEAST_BYTES;

/// The forwarding state of one server.
#[derive(Clone, Debug)]
pub struct SoftwareForwarding {
    config: Config,
    nst: Box<[NextHop; HOPS]>,
    fib: BTreeMap<NodeId, Route>,
    flow_counts: Lru<Flow, FlowCount>,
    traffic: Traffic,
    drops: [u64; DropReason::COUNT],
    notices: Vec<Notice>,
    new_flows: RateLimit,
    reroutes: RateLimit,
}

impl Default for SoftwareForwarding {
    /// The state of a server without address, neighbours and paths.
    fn default() -> SoftwareForwarding {
        SoftwareForwarding {
            config: Config::default(),
            nst: Box::new([NextHop::default(); HOPS]),
            fib: BTreeMap::new(),
            flow_counts: Lru::new(FLOWS),
            traffic: Traffic::default(),
            drops: [0; DropReason::COUNT],
            notices: Vec::new(),
            new_flows: notices(),
            reroutes: notices(),
        }
    }
}

/// The initial state: a server with its neighbours but without paths.
pub fn forwarding(configuration: &Configuration) -> Result<Box<dyn Forwarding>, ConfigurationError> {
    let mut forwarding = SoftwareForwarding::default();
    set_up(&own_entries(configuration)?, |entry| forwarding.apply(entry))?;
    Ok(Box::new(forwarding))
}

impl Forwarding for SoftwareForwarding {
    fn headroom_bytes(&self) -> usize {
        HEADER_BYTES
    }

    fn send(&mut self, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>) {
        let sent = self.send_own(packet, now);
        out.push(self.conclude(sent));
    }

    fn receive(&mut self, _port: u8, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>) {
        let received = self.take_in(packet, now);
        out.push(self.conclude(received));
    }

    fn apply(&mut self, update: &TableUpdate) -> Result<(), TableError> {
        update.write_to(SCHEMAS, |table, key, value| self.write(table, key, value))
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
        let notices = std::mem::take(&mut self.notices);
        notices.iter().map(|notice| notice.as_bytes().to_vec()).collect()
    }
}

impl SoftwareForwarding {
    /// Writes an entry whose key and value have the right lengths; `None` for an impossible entry.
    fn write(&mut self, table: &str, key: &[u8], value: Option<&[u8]>) -> Option<()> {
        match table {
            CONFIG => self.config = Config::read_from_bytes(value?).ok()?,
            NST => *self.nst.get_mut(array_index(key)?)? = NextHop::read_from_bytes(value?).ok()?,
            FIB => {
                let destination = NodeId::from_ne_bytes(key.try_into().ok()?);
                match value {
                    Some(value) => drop(self.fib.insert(destination, Route::read_from_bytes(value).ok()?)),
                    None => drop(self.fib.remove(&destination)),
                }
            }
            FLOW_COUNTS if value.is_none() => {
                self.flow_counts.remove(&Flow::read_from_bytes(key).ok()?);
            }
            _ => return None,
        }
        Some(())
    }

    fn conclude(&mut self, outcome: Result<Verdict, DropReason>) -> Verdict {
        outcome.unwrap_or_else(|reason| {
            self.drops[reason.index()] += 1;
            Verdict::Drop(reason)
        })
    }

    fn is_configured(&self) -> bool {
        self.config.ip != [0; 4]
    }

    fn own_ip(&self) -> Ipv4Addr {
        self.config.ip.into()
    }

    fn send_own(&mut self, buffer: &mut PacketBuffer, now: Time) -> Result<Verdict, DropReason> {
        if !self.is_configured() {
            return Err(DropReason::Unconfigured);
        }
        let frame = buffer.frame();
        let bytes = frame.get(ETHERNET_BYTES..).ok_or(DropReason::Malformed)?;
        if frame[12..ETHERNET_BYTES] != ETHERTYPE_IPV4 {
            return Err(DropReason::NotIp);
        }
        let packet = Ipv4Packet::parse(bytes).ok_or(DropReason::Malformed)?;
        if packet.total_bytes() != bytes.len() {
            return Err(DropReason::Malformed);
        }
        if bytes[0] & 0xf != 5 {
            return Err(DropReason::IpOptions);
        }
        if packet.source() != self.own_ip() {
            return Err(DropReason::Forged);
        }
        if bytes.len() + HEADER_BYTES > self.config.mtu as usize {
            return Err(DropReason::TooBig);
        }
        let (flow, length) = (packet.flow(), bytes.len() as u64);
        self.announce(flow, now);
        let destination = server_of(flow.dst.into()).ok_or(DropReason::NoPath)?;
        let fresh = Rerouting {
            retries: self.config.retries,
            ..Rerouting::default()
        };
        let choice = self.choose(destination, fresh)?;
        if !buffer.insert_behind(BEFORE_OPTION, HEADER_BYTES) {
            return Err(DropReason::AdjustFailed);
        }
        put_on(&mut buffer.frame_mut()[ETHERNET_BYTES..], &choice.rerouting);
        self.tell_reroute(&choice, flow, now);
        if let Some(count) = self.flow_counts.get_mut(&flow) {
            count.packets += 1;
            count.bytes += length;
        }
        self.traffic.own_packets += 1;
        self.traffic.own_bytes += length;
        Ok(self.hop(choice.hop, buffer))
    }

    fn take_in(&mut self, buffer: &mut PacketBuffer, now: Time) -> Result<Verdict, DropReason> {
        let frame = buffer.frame();
        let ethertype = frame.get(12..ETHERNET_BYTES).ok_or(DropReason::Malformed)?;
        if ethertype == ETHERTYPE_ARP {
            return Ok(Verdict::Pass);
        }
        if ethertype != ETHERTYPE_IPV4 {
            return Err(DropReason::NotIp);
        }
        if !self.is_configured() {
            return Err(DropReason::Unconfigured);
        }
        let packet = &frame[ETHERNET_BYTES..];
        let ip = packet
            .get(..Ipv4Packet::LEAST_BYTES)
            .ok_or(DropReason::Malformed)?;
        if !self.is_for_port(&frame[..6]) {
            return Err(DropReason::OtherHost);
        }
        if !is_header(packet) {
            let to = Ipv4Addr::new(ip[16], ip[17], ip[18], ip[19]);
            return is_control(to).then_some(Verdict::Pass).ok_or(DropReason::Foreign);
        }
        let header = HeaderView::parse(packet)?;
        if header.destination() == self.own_ip() {
            let end = ETHERNET_BYTES + header.total_bytes();
            return Ok(self.deliver(buffer, end));
        }
        if header.ttl() <= 1 {
            return Err(DropReason::TtlExpired);
        }
        let bytes = (header.total_bytes() - HEADER_BYTES) as u64;
        let before = header.rerouting();
        let mut arrived = before;
        arrived.proxy = before.proxy.filter(|&proxy| proxy != self.config.server);
        let destination = server_of(header.destination());
        let target = arrived.proxy.or(destination).ok_or(DropReason::NoPath)?;
        let flow = Flow::new(header.source(), header.destination(), packet[9], 0, 0);
        let choice = self.choose(target, arrived)?;
        let packet = &mut buffer.frame_mut()[ETHERNET_BYTES..];
        take_hop(packet);
        if choice.rerouting != before {
            set_rerouting(packet, &choice.rerouting);
        }
        self.tell_reroute(&choice, flow, now);
        self.traffic.relayed_packets += 1;
        self.traffic.relayed_bytes += bytes;
        Ok(self.hop(choice.hop, buffer))
    }

    /// Removes the option from a frame; the packet in it ends at `end`.
    fn deliver(&mut self, buffer: &mut PacketBuffer, end: usize) -> Verdict {
        buffer.truncate(end);
        take_off(&mut buffer.frame_mut()[ETHERNET_BYTES..]);
        buffer.remove_behind(BEFORE_OPTION, HEADER_BYTES);
        buffer.frame_mut()[..6].copy_from_slice(&self.config.vnic_mac);
        self.traffic.delivered_packets += 1;
        self.traffic.delivered_bytes += (end - ETHERNET_BYTES - HEADER_BYTES) as u64;
        Verdict::Deliver
    }

    /// Whether a frame's destination is one of this server's ports. Their addresses differ from the
    /// virtual NIC's only in the byte of the port.
    fn is_for_port(&self, destination: &[u8]) -> bool {
        let own = &self.config.vnic_mac;
        destination[..2] == own[..2] && destination[3..6] == own[3..]
    }

    fn choose(&self, target: NodeId, rerouting: Rerouting) -> Result<Choice, DropReason> {
        let route = self.fib.get(&target).ok_or(DropReason::NoPath)?;
        let is_up = |hop: u8| self.nst[usize::from(hop)].up != 0;
        route.choose(rerouting, self.config.cell, is_up)
    }

    /// Addresses a frame to a neighbour and counts it.
    fn hop(&mut self, hop: u8, buffer: &mut PacketBuffer) -> Verdict {
        let next_hop = &self.nst[usize::from(hop)];
        set_addresses(buffer.frame_mut(), &next_hop.next_mac, &next_hop.own_mac);
        self.traffic.sent_packets[usize::from(next_hop.port) % PORTS] += 1;
        Verdict::Send { port: next_hop.port }
    }

    /// Notifies user space of a new flow. If the rate limit forbids it, the flow's next packet
    /// tries again.
    fn announce(&mut self, flow: Flow, now: Time) {
        let known = self.flow_counts.get_mut(&flow);
        if known.is_some_and(|count| count.announced != 0) {
            return;
        }
        let announced = self.new_flows.take(now);
        let notice = Notice {
            kind: NEW_FLOW,
            flow,
            ..Notice::default()
        };
        self.tell(announced, now, notice);
        match self.flow_counts.get_mut(&flow) {
            Some(count) => count.announced = announced.into(),
            None => self.flow_counts.insert(
                flow,
                FlowCount {
                    announced: announced.into(),
                    ..FlowCount::default()
                },
            ),
        }
    }

    fn tell_reroute(&mut self, choice: &Choice, flow: Flow, now: Time) {
        if !choice.rerouted {
            return;
        }
        let due = self.reroutes.take(now);
        let notice = Notice {
            kind: REROUTED,
            proxy: choice.rerouting.proxy.unwrap_or_default(),
            flow,
            ..Notice::default()
        };
        self.tell(due, now, notice);
    }

    fn tell(&mut self, due: bool, now: Time, notice: Notice) {
        if due {
            let at_nanos = now.as_nanos() as u64;
            self.notices.push(Notice { at_nanos, ..notice });
        } else {
            self.traffic.notices_suppressed += 1;
        }
    }
}
