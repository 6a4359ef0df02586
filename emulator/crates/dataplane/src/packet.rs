//! The fields of applications' packets that forwardings use: addresses and the five-tuple.

use std::net::Ipv4Addr;

use crate::flow::Flow;

const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;
const MORE_OR_OFFSET: u16 = 0x3fff;

/// An IPv4 packet with at least 20 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4Packet<'a>(&'a [u8]);

impl<'a> Ipv4Packet<'a> {
    /// Length of the shortest header.
    pub const LEAST_BYTES: usize = 20;

    /// Parses a packet; `None` unless it is IPv4 with at least the shortest header.
    pub fn parse(packet: &'a [u8]) -> Option<Ipv4Packet<'a>> {
        (packet.len() >= Ipv4Packet::LEAST_BYTES && packet[0] >> 4 == 4 && packet[0] & 0xf >= 5)
            .then_some(Ipv4Packet(packet))
    }

    /// A packet of at least 20 bytes, without a check: a relay does not check the packets that it
    /// carries.
    pub fn unchecked(packet: &'a [u8]) -> Ipv4Packet<'a> {
        Ipv4Packet(packet)
    }

    /// The source address.
    pub fn source(&self) -> Ipv4Addr {
        self.address(12)
    }

    /// The destination address.
    pub fn destination(&self) -> Ipv4Addr {
        self.address(16)
    }

    /// The packet's length according to its header, including the header.
    pub fn total_bytes(&self) -> usize {
        usize::from(u16::from_be_bytes([self.0[2], self.0[3]]))
    }

    /// The five-tuple. Ports are 0 for protocols without ports, for packets too short for them, and
    /// for all fragments of a datagram, so that fragments take one path.
    pub fn flow(&self) -> Flow {
        let proto = self.0[9];
        let fragment = u16::from_be_bytes([self.0[6], self.0[7]]) & MORE_OR_OFFSET != 0;
        let has_ports = !fragment && matches!(proto, TCP | UDP | DCCP | SCTP | UDP_LITE);
        let at = usize::from(self.0[0] & 0xf) * 4;
        let (sport, dport) = match self.0.get(at..at + 4) {
            Some(&[a, b, c, d]) if has_ports => (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])),
            _ => (0, 0),
        };
        Flow::new(self.source(), self.destination(), proto, sport, dport)
    }

    fn address(&self, at: usize) -> Ipv4Addr {
        Ipv4Addr::new(self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3])
    }
}
