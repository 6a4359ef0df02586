//! The software forwarding engine: what the fast path in `bpf/` does, frame by frame, in user space [bcube §7.2].
//!
//! A server in software mode runs its packets through an [`Engine`]: those of its own applications through
//! [`Engine::send`], those that come in by a port through [`Engine::receive`]. Both engines are held to
//! `vectors/forwarding.json`, and to each other.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::Range;

use crate::address::{Nha, is_control, is_virtual};
use crate::drops::DropReason;
use crate::header::{HEADER_BYTES, Header, HeaderView, IP_IN_IP, take_hop};
use crate::inner::Inner;
use crate::limit::Limit;
use crate::lru::Lru;
use crate::maps::{
    Config, DEFAULT_ROUTE, EVENT_NEW_FLOW, EVENT_NEXT_HOP_DEAD, Event, FLOWS, Flow, FlowCount, GATEWAY,
    NextHop, PORTS, Path, Traffic,
};

/// Length of an Ethernet header.
pub const ETHERNET_BYTES: usize = 14;
/// Free bytes that [`Engine::send`] wants before a frame.
pub const HEADROOM_BYTES: usize = HEADER_BYTES;

const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_ARP: [u8; 2] = [0x08, 0x06];

/// What is to be done with a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send the whole buffer by this interface.
    Send {
        /// Interface index of the port.
        ifindex: u32,
    },
    /// Give this part of the buffer, a frame, to the virtual NIC.
    Deliver {
        /// Where the frame is.
        frame: Range<usize>,
    },
    /// Leave it to the stack: control traffic.
    Pass,
    /// Nothing; it has been counted.
    Drop(DropReason),
}

/// The forwarding state of one server.
#[derive(Clone, Debug)]
pub struct Engine {
    config: Config,
    nst: Box<[NextHop; Nha::VALUES]>,
    flows: Lru<Flow, Path>,
    flow_counts: Lru<Flow, FlowCount>,
    routes: BTreeMap<[u8; 4], Path>,
    traffic: Traffic,
    drops: [u64; DropReason::COUNT],
    events: Vec<Event>,
    new_flows: Limit,
    dead_hops: Limit,
}

impl Engine {
    /// The engine of a server that knows no neighbour and no path yet.
    pub fn new(config: Config) -> Engine {
        Engine {
            config,
            nst: Box::new([NextHop::default(); Nha::VALUES]),
            flows: Lru::new(FLOWS),
            flow_counts: Lru::new(FLOWS),
            routes: BTreeMap::new(),
            traffic: Traffic::default(),
            drops: [0; DropReason::COUNT],
            events: Vec::new(),
            new_flows: Limit::default(),
            dead_hops: Limit::default(),
        }
    }

    /// Sets an entry of the neighbour status table.
    pub fn set_next_hop(&mut self, nha: Nha, next_hop: NextHop) {
        self.nst[nha.index()] = next_hop;
    }

    /// Marks a neighbour alive or dead.
    pub fn set_up(&mut self, nha: Nha, up: bool) {
        self.nst[nha.index()].up = up.into();
    }

    /// Sets the path of one flow.
    pub fn set_flow(&mut self, flow: Flow, path: Path) {
        self.flows.insert(flow, path);
    }

    /// Sets the path that flows to a destination take until they have their own; [`Ipv4Addr::UNSPECIFIED`] is
    /// everything outside the virtual network.
    pub fn set_route(&mut self, destination: Ipv4Addr, path: Path) {
        self.routes.insert(destination.octets(), path);
    }

    /// Has a flow announced again with its next packet.
    pub fn forget_flow(&mut self, flow: &Flow) {
        self.flow_counts.remove(flow);
    }

    /// What the server has carried so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Packets dropped so far, by [`DropReason::index`].
    pub fn drops(&self) -> &[u64; DropReason::COUNT] {
        &self.drops
    }

    /// What each flow has sent so far, in the order of five-tuples.
    pub fn flow_counts(&self) -> impl Iterator<Item = (&Flow, &FlowCount)> {
        self.flow_counts.iter()
    }

    /// The events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Puts a header before a packet of the server's own applications. `buffer` is [`HEADROOM_BYTES`] free bytes and
    /// the frame as the virtual NIC sent it; the frame to be sent fills the buffer. `now_nanos` never goes back.
    pub fn send(&mut self, buffer: &mut [u8], now_nanos: u64) -> Verdict {
        let sent = self.encapsulate(buffer, now_nanos);
        self.conclude(sent)
    }

    /// Delivers or relays a frame that came in by a port, in place. `now_nanos` never goes back.
    pub fn receive(&mut self, frame: &mut [u8], now_nanos: u64) -> Verdict {
        let received = self.classify(frame, now_nanos);
        self.conclude(received)
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

    fn encapsulate(&mut self, buffer: &mut [u8], now_nanos: u64) -> Result<Verdict, DropReason> {
        if !self.is_configured() {
            return Err(DropReason::Unconfigured);
        }
        let frame = buffer.get(HEADROOM_BYTES..).ok_or(DropReason::Malformed)?;
        let packet = frame.get(ETHERNET_BYTES..).ok_or(DropReason::Malformed)?;
        if frame[12..ETHERNET_BYTES] != ETHERTYPE_IPV4 {
            return Err(DropReason::NotIp);
        }
        let inner = Inner::parse(packet).ok_or(DropReason::Malformed)?;
        if !self.is_mine(inner.source()) {
            return Err(DropReason::Forged);
        }
        if packet.len() + HEADER_BYTES > self.config.mtu as usize {
            return Err(DropReason::TooBig);
        }

        let (flow, bytes) = (inner.flow(), packet.len());
        self.announce(flow, now_nanos);
        let path = self.find_path(&flow).ok_or(DropReason::NoPath)?;
        let route = path.route().ok_or(DropReason::BadIndex)?;
        let own_ip = self.config.ip;
        let next_hop = self.living_neighbour(route.hops()[0], now_nanos, || Event {
            path_id: path.id,
            src: own_ip,
            dst: path.dst,
            flow,
            ..Event::default()
        })?;
        let header = Header::new(self.own_ip(), path.dst.into(), route, path.id, bytes)?;

        let (front, _) = buffer.split_at_mut(ETHERNET_BYTES + HEADER_BYTES);
        address_frame(front, &next_hop);
        front[12..ETHERNET_BYTES].copy_from_slice(&ETHERTYPE_IPV4);
        front[ETHERNET_BYTES..].copy_from_slice(&header.emit());
        if let Some(count) = self.flow_counts.get_mut(&flow) {
            count.packets += 1;
            count.bytes += bytes as u64;
            count.path_id = path.id;
        }
        self.count_sent(&next_hop);
        self.traffic.own_packets += 1;
        self.traffic.own_bytes += bytes as u64;
        Ok(Verdict::Send {
            ifindex: next_hop.ifindex,
        })
    }

    fn classify(&mut self, frame: &mut [u8], now_nanos: u64) -> Result<Verdict, DropReason> {
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
            return Ok(self.decapsulate(frame, end));
        };
        if header.ttl() <= 1 {
            return Err(DropReason::TtlExpired);
        }
        let next_hop = self.living_neighbour(nha, now_nanos, || Event {
            path_id: header.path_id(),
            src: header.source().octets(),
            dst: header.destination().octets(),
            flow: Inner::unchecked(inner).flow(),
            ..Event::default()
        })?;
        let bytes = inner.len() as u64;
        take_hop(&mut frame[ETHERNET_BYTES..]);
        address_frame(frame, &next_hop);
        self.count_sent(&next_hop);
        self.traffic.relayed_packets += 1;
        self.traffic.relayed_bytes += bytes;
        Ok(Verdict::Send {
            ifindex: next_hop.ifindex,
        })
    }

    /// Whether a packet at the end of its path is for this server. Inside, virtual addresses are those of the path's
    /// ends; others come from, or go to, a gateway's outside.
    fn accept(&self, header: &HeaderView<'_>, inner: &[u8]) -> Result<(), DropReason> {
        if header.destination() != self.own_ip() {
            return Err(DropReason::NotMine);
        }
        let inner = Inner::parse(inner).ok_or(DropReason::Malformed)?;
        let from_its_source = !is_virtual(inner.source()) || inner.source() == header.source();
        if from_its_source && self.is_mine(inner.destination()) {
            Ok(())
        } else {
            Err(DropReason::Forged)
        }
    }

    /// Takes the header off: the Ethernet header moves up to the inner packet, which ends at `end`.
    fn decapsulate(&mut self, frame: &mut [u8], end: usize) -> Verdict {
        frame.copy_within(..ETHERNET_BYTES, HEADER_BYTES);
        frame[HEADER_BYTES..HEADER_BYTES + 6].copy_from_slice(&self.config.vnic_mac);
        self.traffic.delivered_packets += 1;
        self.traffic.delivered_bytes += (end - ETHERNET_BYTES - HEADER_BYTES) as u64;
        Verdict::Deliver {
            frame: HEADER_BYTES..end,
        }
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
        let outside = || {
            self.routes
                .get(&DEFAULT_ROUTE)
                .filter(|_| !is_virtual(flow.dst.into()))
        };
        self.routes.get(&flow.dst).or_else(outside).copied()
    }

    /// Has user space told of a flow it has not heard of; where the limit forbids it, the flow's next packet tries.
    fn announce(&mut self, flow: Flow, now_nanos: u64) {
        if self
            .flow_counts
            .get_mut(&flow)
            .is_some_and(|count| count.announced != 0)
        {
            return;
        }
        let announced = self.new_flows.is_due(now_nanos);
        self.tell(
            announced,
            now_nanos,
            Event {
                kind: EVENT_NEW_FLOW,
                src: flow.src,
                dst: flow.dst,
                flow,
                ..Event::default()
            },
        );
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
        now_nanos: u64,
        event: impl FnOnce() -> Event,
    ) -> Result<NextHop, DropReason> {
        let next_hop = self.nst[nha.index()];
        if next_hop.ifindex == 0 {
            return Err(DropReason::UnknownNextHop);
        }
        if next_hop.up == 0 {
            let due = self.dead_hops.is_due(now_nanos);
            self.tell(
                due,
                now_nanos,
                Event {
                    kind: EVENT_NEXT_HOP_DEAD,
                    nha: nha.0.into(),
                    ..event()
                },
            );
            return Err(DropReason::NextHopDead);
        }
        Ok(next_hop)
    }

    fn count_sent(&mut self, next_hop: &NextHop) {
        self.traffic.sent_packets[usize::from(next_hop.port) % PORTS] += 1;
    }

    fn tell(&mut self, due: bool, at_nanos: u64, event: Event) {
        if due {
            self.events.push(Event { at_nanos, ..event });
        } else {
            self.traffic.events_suppressed += 1;
        }
    }
}

/// Writes the hardware addresses of a hop to the front of a frame.
fn address_frame(frame: &mut [u8], next_hop: &NextHop) {
    frame[..6].copy_from_slice(&next_hop.next_mac);
    frame[6..12].copy_from_slice(&next_hop.own_mac);
}
