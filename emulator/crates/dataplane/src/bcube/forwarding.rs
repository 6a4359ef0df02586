//! BCube packets in user space: what the programs in `bpf/bcube/` do, frame by frame `[bcube §7.2]`. Both are held to
//! `vectors/forwarding.json`, and to each other.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use zerocopy::{FromBytes, IntoBytes};

use super::header::{HEADER_BYTES, Header, HeaderView, IP_IN_IP, take_hop};
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
use crate::forwarding::{Forwarding, Verdict};
use crate::frame::{ETHERNET_BYTES, ETHERTYPE_ARP, ETHERTYPE_IPV4, PacketBuffer, set_addresses};
use crate::lru::Lru;
use crate::packet::Ipv4Packet;
use crate::protocol::Time;
use crate::rate_limit::{RateLimit, notices};
use crate::tables::{TableError, TableUpdate, array_index};

/// The forwarding state of one server.
#[derive(Clone, Debug)]
pub struct SoftwareForwarding {
    config: Config,
    nst: Box<[NextHop; Nha::VALUES]>,
    flows: Lru<Flow, Path>,
    flow_counts: Lru<Flow, FlowCount>,
    routes: BTreeMap<[u8; 4], Path>,
    traffic: Traffic,
    drops: [u64; DropReason::COUNT],
    notices: Vec<Notice>,
    new_flows: RateLimit,
    dead_hops: RateLimit,
}

impl Default for SoftwareForwarding {
    /// A server that has no address and knows no neighbour and no path yet.
    fn default() -> SoftwareForwarding {
        SoftwareForwarding {
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

/// The forwarding of a server that knows its neighbours and no path yet.
pub fn forwarding(configuration: &Configuration) -> Result<Box<dyn Forwarding>, ConfigurationError> {
    let mut forwarding = SoftwareForwarding::default();
    for update in own_entries(configuration)? {
        forwarding.apply(&update).map_err(|error| ConfigurationError {
            field: "ports".to_owned(),
            value: error.table,
            limit: "entries of this protocol's tables".to_owned(),
            fix: error.message,
        })?;
    }
    Ok(Box::new(forwarding))
}

impl Forwarding for SoftwareForwarding {
    fn headroom_bytes(&self) -> usize {
        HEADER_BYTES
    }

    fn send(&mut self, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>) {
        let sent = self.encapsulate(packet, now);
        out.push(self.conclude(sent));
    }

    fn receive(&mut self, _port: u8, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>) {
        let received = self.classify(packet, now);
        out.push(self.conclude(received));
    }

    fn apply(&mut self, update: &TableUpdate) -> Result<(), TableError> {
        let schema = SCHEMAS.iter().find(|schema| schema.name == update.table);
        let key = &update.key.0[..];
        let value = update.value.as_ref().map(|value| &value.0[..]);
        let shaped = schema.is_some_and(|schema| {
            key.len() == schema.key_bytes && value.is_none_or(|value| value.len() == schema.value_bytes)
        });
        let applied = shaped.then(|| self.write(&update.table, key, value)).flatten();
        applied.ok_or_else(|| TableError::new(&update.table, "no such entry"))
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
    /// Writes an entry whose key and value have the right lengths; `None` for an entry that there cannot be.
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

    /// Whether the server may speak for an address other than its own: a gateway, for those outside [bcube §5.3].
    fn is_mine(&self, ip: Ipv4Addr) -> bool {
        ip == self.own_ip() || self.config.flags & GATEWAY != 0 && !is_virtual(ip)
    }

    fn encapsulate(&mut self, buffer: &mut PacketBuffer, now: Time) -> Result<Verdict, DropReason> {
        if !self.is_configured() {
            return Err(DropReason::Unconfigured);
        }
        let frame = buffer.frame();
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
        let route = path.route().ok_or(DropReason::BadIndex)?;
        let own_ip = self.config.ip;
        let next_hop = self.living_neighbour(route.hops()[0], now, || Notice {
            path_id: path.id,
            src: own_ip,
            dst: path.dst,
            flow,
            ..Notice::default()
        })?;
        let header = Header::new(self.own_ip(), path.dst.into(), route, path.id, bytes)?;

        if !buffer.insert_header(HEADER_BYTES) {
            return Err(DropReason::AdjustFailed);
        }
        let frame = buffer.frame_mut();
        set_addresses(frame, &next_hop.next_mac, &next_hop.own_mac);
        frame[ETHERNET_BYTES..ETHERNET_BYTES + HEADER_BYTES].copy_from_slice(&header.emit());
        if let Some(count) = self.flow_counts.get_mut(&flow) {
            count.packets += 1;
            count.bytes += bytes as u64;
            count.path_id = path.id;
        }
        self.count_sent(&next_hop);
        self.traffic.own_packets += 1;
        self.traffic.own_bytes += bytes as u64;
        Ok(Verdict::Send { port: next_hop.port })
    }

    fn classify(&mut self, buffer: &mut PacketBuffer, now: Time) -> Result<Verdict, DropReason> {
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
        let outer: &[u8; 20] = frame[ETHERNET_BYTES..]
            .first_chunk()
            .ok_or(DropReason::Malformed)?;
        if !self.is_for_port(&frame[..6]) {
            return Err(DropReason::OtherHost);
        }
        if outer[9] != IP_IN_IP {
            let to = Ipv4Addr::new(outer[16], outer[17], outer[18], outer[19]);
            return is_control(to).then_some(Verdict::Pass).ok_or(DropReason::Foreign);
        }

        let (header, inner) = HeaderView::parse(&frame[ETHERNET_BYTES..])?;
        if header.source() == self.own_ip() {
            return Err(DropReason::OwnSource);
        }
        let Some(nha) = header.next_hop() else {
            let end = ETHERNET_BYTES + header.total_bytes();
            self.accept(&header, inner)?;
            return Ok(self.decapsulate(buffer, end));
        };
        if header.ttl() <= 1 {
            return Err(DropReason::TtlExpired);
        }
        let next_hop = self.living_neighbour(nha, now, || Notice {
            path_id: header.path_id(),
            src: header.source().octets(),
            dst: header.destination().octets(),
            flow: Ipv4Packet::unchecked(inner).flow(),
            ..Notice::default()
        })?;
        let bytes = inner.len() as u64;
        let frame = buffer.frame_mut();
        take_hop(&mut frame[ETHERNET_BYTES..]);
        set_addresses(frame, &next_hop.next_mac, &next_hop.own_mac);
        self.count_sent(&next_hop);
        self.traffic.relayed_packets += 1;
        self.traffic.relayed_bytes += bytes;
        Ok(Verdict::Send { port: next_hop.port })
    }

    /// Whether a packet at the end of its path is for this server. Inside, virtual addresses are those of the path's
    /// ends; others come from, or go to, a gateway's outside.
    fn accept(&self, header: &HeaderView<'_>, inner: &[u8]) -> Result<(), DropReason> {
        if header.destination() != self.own_ip() {
            return Err(DropReason::NotMine);
        }
        let inner = Ipv4Packet::parse(inner).ok_or(DropReason::Malformed)?;
        let from_its_source = !is_virtual(inner.source()) || inner.source() == header.source();
        if from_its_source && self.is_mine(inner.destination()) {
            Ok(())
        } else {
            Err(DropReason::Forged)
        }
    }

    /// Removes the header of a frame whose packet ends at `end`.
    fn decapsulate(&mut self, buffer: &mut PacketBuffer, end: usize) -> Verdict {
        buffer.truncate(end);
        buffer.remove_header(HEADER_BYTES);
        buffer.frame_mut()[..6].copy_from_slice(&self.config.vnic_mac);
        self.traffic.delivered_packets += 1;
        self.traffic.delivered_bytes += (end - ETHERNET_BYTES - HEADER_BYTES) as u64;
        Verdict::Deliver
    }

    /// Whether a frame's destination is one of this server's ports, whose addresses differ from the virtual NIC's in
    /// the port's byte alone.
    fn is_for_port(&self, destination: &[u8]) -> bool {
        let own = &self.config.vnic_mac;
        destination[..2] == own[..2] && destination[3..6] == own[3..]
    }

    /// The path of a packet: its flow's own, else its destination's, else that to a gateway for what is outside.
    fn find_path(&mut self, flow: &Flow) -> Option<Path> {
        if let Some(path) = self.flows.get_mut(flow) {
            return Some(*path);
        }
        let outside = || self.routes.get(&OUTSIDE).filter(|_| !is_virtual(flow.dst.into()));
        self.routes.get(&flow.dst).or_else(outside).copied()
    }

    /// Has user space told of a flow it has not heard of; where the limit forbids it, the flow's next packet tries.
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

    /// The living neighbour of an NHA: one lookup decides [bcube §7.2]. User space is told of a dead one, so that the
    /// source hears of it [bcube §4.2].
    fn living_neighbour(
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
            let due = self.dead_hops.take(now);
            let notice = Notice {
                kind: NEXT_HOP_DEAD,
                nha: nha.0.into(),
                ..notice()
            };
            self.tell(due, now, notice);
            return Err(DropReason::NextHopDead);
        }
        Ok(next_hop)
    }

    fn count_sent(&mut self, next_hop: &NextHop) {
        self.traffic.sent_packets[usize::from(next_hop.port) % PORTS] += 1;
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
