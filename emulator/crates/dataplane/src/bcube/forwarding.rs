//! BCube packets in user space, with the same effect as the programs in `bpf/bcube/`, frame by
//! frame `[bcube §7.2]`. Tests compare both with `vectors/forwarding.json`, and with each other.

use super::header::{HEADER_BYTES, Header, HeaderView, IP_IN_IP, take_hop};
use super::state::State;
use super::tables::Notice;
use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::{FlowCount, Traffic};
use crate::drops::DropReason;
use crate::flow::Flow;
use crate::forwarding::{Forwarding, Verdict};
use crate::frame::{ETHERNET_BYTES, PacketBuffer, set_addresses};
use crate::packet::Ipv4Packet;
use crate::protocol::Time;
use crate::tables::{TableError, TableUpdate};

/// The forwarding state of one server.
#[derive(Clone, Debug, Default)]
pub struct SoftwareForwarding(State);

/// The initial state: a server with its neighbours but without paths.
pub fn forwarding(configuration: &Configuration) -> Result<Box<dyn Forwarding>, ConfigurationError> {
    Ok(Box::new(SoftwareForwarding(State::of(configuration)?)))
}

impl Forwarding for SoftwareForwarding {
    fn headroom_bytes(&self) -> usize {
        HEADER_BYTES
    }

    fn send(&mut self, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>) {
        let sent = self.encapsulate(packet, now);
        out.push(self.0.conclude(sent));
    }

    fn receive(&mut self, _port: u8, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>) {
        let received = self.classify(packet, now);
        out.push(self.0.conclude(received));
    }

    fn apply(&mut self, update: &TableUpdate) -> Result<(), TableError> {
        self.0.apply(update)
    }

    fn traffic(&self) -> Traffic {
        self.0.traffic
    }

    fn drops(&self) -> &[u64; DropReason::COUNT] {
        &self.0.drops
    }

    fn flow_counts(&self) -> Vec<(Flow, FlowCount)> {
        self.0.flow_counts()
    }

    fn take_notices(&mut self) -> Vec<Vec<u8>> {
        self.0.take_notices()
    }
}

impl SoftwareForwarding {
    fn encapsulate(&mut self, buffer: &mut PacketBuffer, now: Time) -> Result<Verdict, DropReason> {
        let State { config, .. } = self.0;
        let sent = self.0.outgoing(buffer.frame(), now)?;
        let route = sent.path.route().ok_or(DropReason::BadIndex)?;
        let next_hop = self
            .0
            .living_neighbour(route.hops()[0], now, || sent.notice(config.ip))?;
        let header = Header::new(
            config.ip.into(),
            sent.path.dst.into(),
            route,
            sent.path.id,
            sent.bytes,
        )?;
        if !buffer.insert_header(HEADER_BYTES) {
            return Err(DropReason::AdjustFailed);
        }
        let frame = buffer.frame_mut();
        set_addresses(frame, &next_hop.next_mac, &next_hop.own_mac);
        frame[ETHERNET_BYTES..ETHERNET_BYTES + HEADER_BYTES].copy_from_slice(&header.emit());
        self.0.count_own(&sent, next_hop.port);
        Ok(Verdict::Send { port: next_hop.port })
    }

    fn classify(&mut self, buffer: &mut PacketBuffer, now: Time) -> Result<Verdict, DropReason> {
        let frame = buffer.frame();
        if let Some(other) = self.0.ours(frame, IP_IN_IP)? {
            return Ok(other);
        }
        let (header, inner) = HeaderView::parse(&frame[ETHERNET_BYTES..])?;
        if header.source() == self.0.own_ip() {
            return Err(DropReason::OwnSource);
        }
        let Some(nha) = header.next_hop() else {
            let end = ETHERNET_BYTES + header.total_bytes();
            self.0.accept(header.source(), header.destination(), inner)?;
            return Ok(self.0.decapsulate(buffer, end));
        };
        if header.ttl() <= 1 {
            return Err(DropReason::TtlExpired);
        }
        let next_hop = self.0.living_neighbour(nha, now, || Notice {
            path_id: header.path_id(),
            src: header.source().octets(),
            dst: header.destination().octets(),
            flow: Ipv4Packet::unchecked(inner).flow(),
            ..Notice::default()
        })?;
        let bytes = inner.len();
        let frame = buffer.frame_mut();
        take_hop(&mut frame[ETHERNET_BYTES..]);
        set_addresses(frame, &next_hop.next_mac, &next_hop.own_mac);
        self.0.count_relayed(bytes, next_hop.port);
        Ok(Verdict::Send { port: next_hop.port })
    }
}
