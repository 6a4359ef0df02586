//! CamCube packets in user space, with the same effect as the programs in `bpf/camcube/`, frame by
//! frame. Tests compare both with `vectors/camcube/forwarding.json`, and with each other.
//!
//! A source sends each packet over the first link that becomes free among those that its service
//! may use `[camcube §2.1.2, §3.1]`. A virtual clock for each port estimates when it is free
//! `[ours]`: when all bytes that it got so far would have been sent at its rate. A packet on a
//! disjoint path stays on it; if that path is broken, the routing service takes over for the rest
//! of the way.

use std::net::Ipv4Addr;

use cubeyard_topology::NodeId;
use zerocopy::FromBytes;

use super::header::{self, Checked, DISJOINT, Header, IP_BYTES, OPTION_BYTES, TCP_IP};
use super::rules::own_entries;
use super::tables::{
    CONFIG, Config, DISJOINT_PATHS, FLOW_COUNTS, NST, NextHop, PORTS, SCHEMAS, SERVERS, WAYS, Way,
};
use crate::address::{is_control, server_of};
use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::{FLOWS, FlowCount, Traffic};
use crate::drops::DropReason;
use crate::flow::Flow;
use crate::forwarding::{Forwarding, Verdict};
use crate::frame::{ETHERNET_BYTES, ETHERTYPE_ARP, ETHERTYPE_IPV4, PacketBuffer, set_addresses};
use crate::lru::Lru;
use crate::packet::Ipv4Packet;
use crate::protocol::Time;
use crate::tables::{TableError, TableUpdate, array_index, set_up};

/// The forwarding state of one server.
#[derive(Clone, Debug)]
pub struct SoftwareForwarding {
    config: Config,
    nst: [NextHop; PORTS],
    ways: Vec<Way>,
    /// Packets sent to each key so far.
    sequences: Vec<u32>,
    /// Virtual clocks: when everything given to each port has been sent, in nanoseconds.
    clocks: [u64; PORTS],
    flow_counts: Lru<Flow, FlowCount>,
    traffic: Traffic,
    drops: [u64; DropReason::COUNT],
}

impl Default for SoftwareForwarding {
    /// The state of a server without address, neighbours and paths.
    fn default() -> SoftwareForwarding {
        SoftwareForwarding {
            config: Config::default(),
            nst: [NextHop::default(); PORTS],
            ways: vec![Way::default(); SERVERS],
            sequences: vec![0; SERVERS],
            clocks: [0; PORTS],
            flow_counts: Lru::new(FLOWS),
            traffic: Traffic::default(),
            drops: [0; DropReason::COUNT],
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
        OPTION_BYTES
    }

    fn send(&mut self, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>) {
        let sent = self.encapsulate(packet, now);
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
        Vec::new()
    }
}

impl SoftwareForwarding {
    /// Writes an entry whose key and value have the right lengths; `None` for an impossible entry.
    fn write(&mut self, table: &str, key: &[u8], value: Option<&[u8]>) -> Option<()> {
        match table {
            CONFIG => self.config = Config::read_from_bytes(value?).ok()?,
            NST => *self.nst.get_mut(array_index(key)?)? = NextHop::read_from_bytes(value?).ok()?,
            WAYS => *self.ways.get_mut(array_index(key)?)? = Way::read_from_bytes(value?).ok()?,
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

    fn own_ip(&self) -> Ipv4Addr {
        self.config.ip.into()
    }

    fn encapsulate(&mut self, buffer: &mut PacketBuffer, now: Time) -> Result<Verdict, DropReason> {
        if self.config.ip == [0; 4] {
            return Err(DropReason::Unconfigured);
        }
        let frame = buffer.frame();
        let packet = frame.get(ETHERNET_BYTES..).ok_or(DropReason::Malformed)?;
        if frame[12..ETHERNET_BYTES] != ETHERTYPE_IPV4 {
            return Err(DropReason::NotIp);
        }
        let inner = Ipv4Packet::parse(packet).ok_or(DropReason::Malformed)?;
        if packet[0] & 0xf != 5 {
            return Err(DropReason::IpOptions);
        }
        if inner.source() != self.own_ip() {
            return Err(DropReason::Forged);
        }
        if packet.len() + OPTION_BYTES > self.config.mtu as usize {
            return Err(DropReason::TooBig);
        }
        let (flow, bytes) = (inner.flow(), packet.len() as u64);
        let home = server_of(inner.destination()).filter(|home| (*home as usize) < SERVERS);
        let home = home.ok_or(DropReason::NoPath)?;
        let way = self.ways[home as usize];
        if way.shortest == 0 {
            return Err(DropReason::NoPath);
        }
        let sequence = self.sequences[home as usize];
        self.sequences[home as usize] = sequence.wrapping_add(1);
        let wire_bytes = bytes as usize + ETHERNET_BYTES + OPTION_BYTES;
        let mut flags = 0;
        let mut port = None;
        if self.config.flags & DISJOINT_PATHS != 0 {
            port = self.first_free(way.disjoint, sequence, wire_bytes, now);
            flags = if port.is_some() { DISJOINT } else { 0 };
        }
        let port = match port {
            Some(port) => port,
            None => self
                .first_free(way.shortest, sequence, wire_bytes, now)
                .ok_or(DropReason::NextHopDead)?,
        };

        if !buffer.insert_behind(ETHERNET_BYTES + IP_BYTES, OPTION_BYTES) {
            return Err(DropReason::AdjustFailed);
        }
        let frame = buffer.frame_mut();
        let header = Header {
            service: TCP_IP,
            key: self.key_of(home),
            flags,
            sequence,
            hops: 1,
            queue: 0,
            colour: 0,
        };
        header.put_into(&mut frame[ETHERNET_BYTES..]);
        self.address(port, frame);
        let mut count = self.flow_counts.remove(&flow).unwrap_or_default();
        count.packets += 1;
        count.bytes += bytes;
        self.flow_counts.insert(flow, count);
        self.traffic.own_packets += 1;
        self.traffic.own_bytes += bytes;
        Ok(Verdict::Send { port })
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
        if self.config.ip == [0; 4] {
            return Err(DropReason::Unconfigured);
        }
        let packet = &frame[ETHERNET_BYTES..];
        if packet.len() < IP_BYTES {
            return Err(DropReason::Malformed);
        }
        let arrival = self.port_of(&frame[..6]).ok_or(DropReason::OtherHost)?;
        if is_control(Ipv4Packet::unchecked(packet).destination()) {
            return Ok(Verdict::Pass);
        }
        let checked = header::check(packet, self.config.sizes)?;
        let home = self.home_of(checked.header.key);
        if Some(home) == server_of(self.own_ip()) {
            // Drop applications' packets that reach the new owner of a dead server's keys [camcube
            // §7].
            if checked.destination != self.own_ip() {
                return Err(DropReason::NotMine);
            }
            return Ok(self.deliver(buffer, &checked));
        }
        if checked.ttl <= 1 {
            return Err(DropReason::TtlExpired);
        }
        self.relay(buffer, &checked, home, arrival, now)
    }

    fn relay(
        &mut self,
        buffer: &mut PacketBuffer,
        checked: &Checked,
        home: NodeId,
        arrival: u8,
        now: Time,
    ) -> Result<Verdict, DropReason> {
        let way = *self.ways.get(home as usize).ok_or(DropReason::BadIndex)?;
        let sequence = checked.header.sequence;
        let wire_bytes = checked.total_bytes + ETHERNET_BYTES;
        let disjoint = checked.header.flags & DISJOINT != 0;
        let onward = way.onward[usize::from(arrival)];
        let mut port = None;
        if disjoint && onward < PORTS as u8 {
            port = self.first_free(1 << onward, sequence, wire_bytes, now);
        }
        let left = disjoint && port.is_none();
        let port = match port {
            Some(port) => port,
            None => {
                // Do not send back to the previous server, except when leaving a disjoint path.
                let back = if left { 0 } else { 1 << arrival };
                let allowed = way.shortest & !back;
                if allowed == 0 {
                    return Err(DropReason::NoPath);
                }
                self.first_free(allowed, sequence, wire_bytes, now)
                    .ok_or(DropReason::NextHopDead)?
            }
        };
        let frame = buffer.frame_mut();
        header::take_hop(&mut frame[ETHERNET_BYTES..]);
        if left {
            header::leave_disjoint_path(&mut frame[ETHERNET_BYTES..]);
        }
        self.address(port, frame);
        self.traffic.relayed_packets += 1;
        self.traffic.relayed_bytes += (checked.total_bytes - OPTION_BYTES) as u64;
        Ok(Verdict::Send { port })
    }

    /// Removes the option from a frame for this server.
    fn deliver(&mut self, buffer: &mut PacketBuffer, checked: &Checked) -> Verdict {
        buffer.truncate(ETHERNET_BYTES + checked.total_bytes);
        buffer.remove_behind(ETHERNET_BYTES + IP_BYTES, OPTION_BYTES);
        let frame = buffer.frame_mut();
        header::restore(&mut frame[ETHERNET_BYTES..]);
        frame[..6].copy_from_slice(&self.config.vnic_mac);
        self.traffic.delivered_packets += 1;
        self.traffic.delivered_bytes += (checked.total_bytes - OPTION_BYTES) as u64;
        Verdict::Deliver
    }

    /// The port of this set whose neighbour is alive and whose link is free first; adds the packet
    /// to the port's clock. Ties go to the first port, counted from port `turn` modulo 6.
    fn first_free(&mut self, ports: u8, turn: u32, wire_bytes: usize, now: Time) -> Option<u8> {
        let now = now.as_nanos() as u64;
        let mut best: Option<(u64, usize)> = None;
        for step in 0..PORTS {
            let port = (turn as usize % PORTS + step) % PORTS;
            if ports >> port & 1 == 0 || self.nst[port].ifindex == 0 || self.nst[port].up == 0 {
                continue;
            }
            let free_at = self.clocks[port].max(now);
            if best.is_none_or(|(earliest, _)| free_at < earliest) {
                best = Some((free_at, port));
            }
        }
        let (free_at, port) = best?;
        self.clocks[port] = free_at + wire_bytes as u64 * u64::from(self.config.picos_per_byte) / 1000;
        Some(port as u8)
    }

    /// Addresses a frame to the neighbour at a port, and counts it.
    fn address(&mut self, port: u8, frame: &mut [u8]) {
        let hop = &self.nst[usize::from(port)];
        set_addresses(frame, &hop.next_mac, &hop.own_mac);
        self.traffic.sent_packets[usize::from(port)] += 1;
    }

    /// The port of this server with the frame's destination address, which differs from the virtual
    /// NIC's in only one byte.
    fn port_of(&self, destination: &[u8]) -> Option<u8> {
        let own = &self.config.vnic_mac;
        let mine = destination[..2] == own[..2] && destination[3..6] == own[3..];
        (mine && usize::from(destination[2]) < PORTS).then_some(destination[2])
    }

    fn key_of(&self, server: NodeId) -> [u8; 3] {
        let [_, y, z] = self.config.sizes;
        // In a configured server no size is 0.
        [server / (y * z), server / z % y, server % z].map(|at| at as u8)
    }

    fn home_of(&self, key: [u8; 3]) -> NodeId {
        let [_, y, z] = self.config.sizes;
        let [a, b, c] = key.map(NodeId::from);
        (a * y + b) * z + c
    }
}
