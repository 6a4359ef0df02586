//! The state and counters of a server in user space, shared by all its forwardings: tables, flows,
//! notices.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use zerocopy::{FromBytes, IntoBytes};

use super::header::HEADER_BYTES;
use super::nha::Nha;
use super::rules::own_entries;
use super::tables::{
    CONFIG, Config, DEFAULT_PATHS, FLOW_COUNTS, FLOW_PATHS, GATEWAY, NEXT_HOP_DEAD, NST, NextHop, Notice,
    OUTSIDE, Path, SCHEMAS,
};
use crate::address::{is_control, is_virtual};
use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::{FLOWS, FlowCount, PORTS, Traffic};
use crate::drops::DropReason;
use crate::flow::Flow;
use crate::forwarding::Verdict;
use crate::frame::{ETHERNET_BYTES, ETHERTYPE_ARP, ETHERTYPE_IPV4, PacketBuffer};
use crate::lru::Lru;
use crate::packet::Ipv4Packet;
use crate::protocol::Time;
use crate::rate_limit::{RateLimit, notices};
use crate::tables::{TableError, TableUpdate, array_index, set_up};

/// The state of one server.
#[derive(Clone, Debug)]
pub struct State {
    pub config: Config,
    pub nst: Box<[NextHop; Nha::VALUES]>,
    flows: Lru<Flow, Path>,
    flow_counts: Lru<Flow, FlowCount>,
    routes: BTreeMap<[u8; 4], Path>,
    pub traffic: Traffic,
    pub drops: [u64; DropReason::COUNT],
    notices: Vec<Notice>,
    new_flows: RateLimit,
    dead_hops: RateLimit,
}

/// A packet of the server's own applications, after its checks.
pub struct Outgoing {
    pub flow: Flow,
    /// Length of the packet without BCube's header.
    pub bytes: usize,
    pub path: Path,
}

impl Default for State {
    /// The state of a server without address, neighbours and paths.
    fn default() -> State {
        State {
            config: Config::default(),
            nst: Box::new([NextHop::default(); Nha::VALUES]),
            flows: Lru::new(FLOWS),
            flow_counts: Lru::new(FLOWS),
            routes: BTreeMap::new(),
            traffic: Traffic::default(),
            drops: [0; DropReason::COUNT],
            notices: Vec::new(),
            new_flows: notices(),
            dead_hops: notices(),
        }
    }
}

impl Outgoing {
    /// The record of this packet for the protocol; `ip` is this server's address.
    pub fn notice(&self, ip: [u8; 4]) -> Notice {
        Notice {
            path_id: self.path.id,
            src: ip,
            dst: self.path.dst,
            flow: self.flow,
            ..Notice::default()
        }
    }
}

impl State {
    /// The initial state: a server with its neighbours but without paths.
    pub fn of(configuration: &Configuration) -> Result<State, ConfigurationError> {
        let mut state = State::default();
        set_up(&own_entries(configuration)?, |entry| state.apply(entry))?;
        Ok(state)
    }

    /// The data that each flow from this server has sent so far, ordered by five-tuple.
    pub fn flow_counts(&self) -> Vec<(Flow, FlowCount)> {
        let counts = self.flow_counts.iter();
        counts.map(|(flow, count)| (*flow, *count)).collect()
    }

    /// The records for the protocol since the last call.
    pub fn take_notices(&mut self) -> Vec<Vec<u8>> {
        let notices = std::mem::take(&mut self.notices);
        notices.iter().map(|notice| notice.as_bytes().to_vec()).collect()
    }

    /// Changes a table. Errors: an unknown table, or a key or value of the wrong length.
    pub fn apply(&mut self, update: &TableUpdate) -> Result<(), TableError> {
        update.write_to(SCHEMAS, |table, key, value| self.write(table, key, value))
    }

    /// Writes an entry whose key and value have the right lengths; `None` for an impossible entry.
    fn write(&mut self, table: &str, key: &[u8], value: Option<&[u8]>) -> Option<()> {
        match table {
            CONFIG => self.config = Config::read_from_bytes(value?).ok()?,
            NST => *self.nst.get_mut(array_index(key)?)? = NextHop::read_from_bytes(value?).ok()?,
            DEFAULT_PATHS => {
                let key = key.try_into().ok()?;
                match value {
                    Some(value) => self.routes.insert(key, Path::read_from_bytes(value).ok()?),
                    None => self.routes.remove(&key),
                };
            }
            FLOW_PATHS => {
                let key = Flow::read_from_bytes(key).ok()?;
                match value {
                    Some(value) => self.flows.insert(key, Path::read_from_bytes(value).ok()?),
                    None => drop(self.flows.remove(&key)),
                }
            }
            FLOW_COUNTS if value.is_none() => {
                self.flow_counts.remove(&Flow::read_from_bytes(key).ok()?);
            }
            _ => return None,
        }
        Some(())
    }

    pub fn conclude(&mut self, outcome: Result<Verdict, DropReason>) -> Verdict {
        outcome.unwrap_or_else(|reason| {
            self.drops[reason.index()] += 1;
            Verdict::Drop(reason)
        })
    }

    fn is_configured(&self) -> bool {
        self.config.ip != [0; 4]
    }

    pub fn own_ip(&self) -> Ipv4Addr {
        self.config.ip.into()
    }

    /// Whether the server may send from an address: its own, or for a gateway any external one
    /// [bcube §5.3].
    fn is_mine(&self, ip: Ipv4Addr) -> bool {
        ip == self.own_ip() || self.config.flags & GATEWAY != 0 && !is_virtual(ip)
    }

    /// Checks a frame of the virtual network card and finds its path; notifies user space of a new
    /// flow.
    pub fn outgoing(&mut self, frame: &[u8], now: Time) -> Result<Outgoing, DropReason> {
        if !self.is_configured() {
            return Err(DropReason::Unconfigured);
        }
        let packet = frame.get(ETHERNET_BYTES..).ok_or(DropReason::Malformed)?;
        if frame[12..ETHERNET_BYTES] != ETHERTYPE_IPV4 {
            return Err(DropReason::NotIp);
        }
        let inner = Ipv4Packet::parse(packet).ok_or(DropReason::Malformed)?;
        if !self.is_mine(inner.source()) {
            return Err(DropReason::Forged);
        }
        if packet.len() + HEADER_BYTES > self.config.mtu as usize {
            return Err(DropReason::TooBig);
        }
        let (flow, bytes) = (inner.flow(), packet.len());
        self.announce(flow, now);
        let path = self.find_path(&flow).ok_or(DropReason::NoPath)?;
        Ok(Outgoing { flow, bytes, path })
    }

    /// Counts a packet that the server's own applications have sent.
    pub fn count_own(&mut self, sent: &Outgoing, port: u8) {
        if let Some(count) = self.flow_counts.get_mut(&sent.flow) {
            count.packets += 1;
            count.bytes += sent.bytes as u64;
            count.path_id = sent.path.id;
        }
        self.count_sent(port);
        self.traffic.own_packets += 1;
        self.traffic.own_bytes += sent.bytes as u64;
    }

    /// Counts a relayed packet; `bytes` is its length without BCube's header.
    pub fn count_relayed(&mut self, bytes: usize, port: u8) {
        self.count_sent(port);
        self.traffic.relayed_packets += 1;
        self.traffic.relayed_bytes += bytes as u64;
    }

    /// Classifies a frame that arrived by a port. `Ok(None)`: a BCube frame, which has this IP
    /// protocol number. `Ok(Some)`: the verdict on any other frame.
    pub fn ours(&self, frame: &[u8], protocol: u8) -> Result<Option<Verdict>, DropReason> {
        let ethertype = frame.get(12..ETHERNET_BYTES).ok_or(DropReason::Malformed)?;
        if ethertype == ETHERTYPE_ARP {
            return Ok(Some(Verdict::Pass));
        }
        if ethertype != ETHERTYPE_IPV4 {
            return Err(DropReason::NotIp);
        }
        if !self.is_configured() {
            return Err(DropReason::Unconfigured);
        }
        let outer: &[u8; 20] = frame[ETHERNET_BYTES..]
            .first_chunk()
            .ok_or(DropReason::Malformed)?;
        if !self.is_for_port(&frame[..6]) {
            return Err(DropReason::OtherHost);
        }
        if outer[9] == protocol {
            return Ok(None);
        }
        let to = Ipv4Addr::new(outer[16], outer[17], outer[18], outer[19]);
        is_control(to)
            .then_some(Some(Verdict::Pass))
            .ok_or(DropReason::Foreign)
    }

    /// Checks whether a packet at the end of its path is for this server. Virtual addresses must
    /// equal those of the path's ends; other addresses must belong to the outside of a gateway.
    pub fn accept(&self, source: Ipv4Addr, destination: Ipv4Addr, inner: &[u8]) -> Result<(), DropReason> {
        if destination != self.own_ip() {
            return Err(DropReason::NotMine);
        }
        let inner = Ipv4Packet::parse(inner).ok_or(DropReason::Malformed)?;
        let from_its_source = !is_virtual(inner.source()) || inner.source() == source;
        if from_its_source && self.is_mine(inner.destination()) {
            Ok(())
        } else {
            Err(DropReason::Forged)
        }
    }

    /// Removes the header of a frame; the packet in it ends at `end`.
    pub fn decapsulate(&mut self, buffer: &mut PacketBuffer, end: usize) -> Verdict {
        buffer.truncate(end);
        buffer.remove_header(HEADER_BYTES);
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

    /// The path of a packet: its flow's, else its destination's, else for external destinations the
    /// path to a gateway.
    fn find_path(&mut self, flow: &Flow) -> Option<Path> {
        if let Some(path) = self.flows.get_mut(flow) {
            return Some(*path);
        }
        let outside = || self.routes.get(&OUTSIDE).filter(|_| !is_virtual(flow.dst.into()));
        self.routes.get(&flow.dst).or_else(outside).copied()
    }

    /// Notifies user space of a new flow. If the rate limit forbids it, the flow's next packet
    /// tries again.
    fn announce(&mut self, flow: Flow, now: Time) {
        if self
            .flow_counts
            .get_mut(&flow)
            .is_some_and(|count| count.announced != 0)
        {
            return;
        }
        let announced = self.new_flows.take(now);
        self.tell(announced, now, Notice::new_flow(flow));
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

    /// The neighbour of an NHA, if it is alive: a single lookup [bcube §7.2]. If it is dead,
    /// notifies user space, which reports it to the source [bcube §4.2].
    pub fn living_neighbour(
        &mut self,
        nha: Nha,
        now: Time,
        notice: impl FnOnce() -> Notice,
    ) -> Result<NextHop, DropReason> {
        let next_hop = self.nst[nha.index()];
        if next_hop.ifindex == 0 {
            return Err(DropReason::UnknownNextHop);
        }
        if next_hop.up == 0 {
            return Err(self.dead_next_hop(nha, now, notice));
        }
        Ok(next_hop)
    }

    /// Notifies user space of a packet whose next hop is dead, and returns the reason for dropping
    /// it.
    pub fn dead_next_hop(&mut self, nha: Nha, now: Time, notice: impl FnOnce() -> Notice) -> DropReason {
        let due = self.dead_hops.take(now);
        let notice = Notice {
            kind: NEXT_HOP_DEAD,
            nha: nha.0.into(),
            ..notice()
        };
        self.tell(due, now, notice);
        DropReason::NextHopDead
    }

    fn count_sent(&mut self, port: u8) {
        self.traffic.sent_packets[usize::from(port) % PORTS] += 1;
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
