//! A host with ordinary Ethernet, ARP and IPv4, unaware of PortLand.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_topology::NodeId;

use crate::entries::Mac;
use crate::frame::{IPV4, ones_complement_sum, word};

pub const BROADCAST: Mac = Mac([0xff; 6]);
pub const ARP: u16 = 0x0806;

/// The IPv4 address of a host.
pub fn ip_of(host: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 + host + 1)
}

/// An ARP packet (RFC 826), for Ethernet and IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    pub is_reply: bool,
    pub sender: (Mac, Ipv4Addr),
    pub target: (Mac, Ipv4Addr),
}

impl Arp {
    /// In an Ethernet frame, from the sender.
    pub fn frame(&self, to: Mac) -> Vec<u8> {
        let mut frame = [to.0, self.sender.0.0].concat();
        frame.extend(ARP.to_be_bytes());
        frame.extend([0, 1, 8, 0, 6, 4, 0, if self.is_reply { 2 } else { 1 }]);
        for (mac, ip) in [self.sender, self.target] {
            frame.extend(mac.0);
            frame.extend(ip.octets());
        }
        frame
    }

    pub fn read(frame: &[u8]) -> Option<Arp> {
        let body = frame.get(14..42)?;
        let known = word(frame, 12) == ARP && body[..6] == [0, 1, 8, 0, 6, 4];
        let end = |at: usize| {
            let mac: [u8; 6] = body[at..at + 6].try_into().ok()?;
            let ip: [u8; 4] = body[at + 6..at + 10].try_into().ok()?;
            Some((Mac(mac), Ipv4Addr::from(ip)))
        };
        let is_reply = match word(body, 6) {
            1 => false,
            2 => true,
            _ => return None,
        };
        known.then_some(())?;
        Some(Arp {
            is_reply,
            sender: end(8)?,
            target: end(18)?,
        })
    }
}

/// A packet that a host has got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The id of the host.
    pub host: NodeId,
    /// The address of the sender.
    pub from: Ipv4Addr,
    /// The source MAC of the packet: the sender's PMAC.
    pub from_mac: Mac,
    /// The data of the packet.
    pub payload: Vec<u8>,
}

/// A packet that waits for its destination's MAC: source port and payload.
type Waiting = (u16, Vec<u8>);

#[derive(Clone, Debug)]
pub struct Host {
    pub id: NodeId,
    pub mac: Mac,
    cache: BTreeMap<Ipv4Addr, Mac>,
    waiting: BTreeMap<Ipv4Addr, Vec<Waiting>>,
}

impl Host {
    pub fn new(id: NodeId) -> Host {
        let [_, high, middle, low] = id.to_be_bytes();
        Host {
            id,
            mac: Mac([0x02, 0xc0, 0xff, high, middle, low]),
            cache: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    fn arp(&self, is_reply: bool, target: (Mac, Ipv4Addr)) -> Arp {
        let sender = (self.mac, ip_of(self.id));
        Arp {
            is_reply,
            sender,
            target,
        }
    }

    /// Sends a packet, after asking for the destination's MAC if it is not known. Returns the
    /// frames that leave.
    pub fn send(&mut self, to: Ipv4Addr, source_port: u16, payload: &[u8]) -> Vec<Vec<u8>> {
        if let Some(&mac) = self.cache.get(&to) {
            return vec![self.udp(mac, to, source_port, payload)];
        }
        self.waiting
            .entry(to)
            .or_default()
            .push((source_port, payload.to_vec()));
        vec![self.arp(false, (Mac([0; 6]), to)).frame(BROADCAST)]
    }

    /// Clears its ARP cache.
    pub fn forget(&mut self) {
        self.cache.clear();
    }

    /// A frame arrives: the frames that it answers with, and the packet that it delivers.
    pub fn receive(&mut self, frame: &[u8]) -> (Vec<Vec<u8>>, Option<Delivered>) {
        let to = frame.get(..6).unwrap_or_default();
        if to != self.mac.0 && to != BROADCAST.0 {
            return (Vec::new(), None);
        }
        if let Some(arp) = Arp::read(frame) {
            return (self.on_arp(&arp), None);
        }
        (Vec::new(), self.read(frame))
    }

    fn on_arp(&mut self, arp: &Arp) -> Vec<Vec<u8>> {
        let (mac, ip) = arp.sender;
        if arp.target.1 != ip_of(self.id) {
            return Vec::new();
        }
        if !ip.is_unspecified() {
            self.cache.insert(ip, mac);
        }
        if !arp.is_reply {
            return vec![self.arp(true, arp.sender).frame(mac)];
        }
        let waiting = self.waiting.remove(&ip).unwrap_or_default().into_iter();
        waiting
            .map(|(port, payload)| self.udp(mac, ip, port, &payload))
            .collect()
    }

    fn udp(&self, mac: Mac, to: Ipv4Addr, source_port: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = [mac.0, self.mac.0].concat();
        frame.extend(IPV4.to_be_bytes());
        frame.extend([0x45, 0]);
        frame.extend((28 + payload.len() as u16).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        frame.extend(ip_of(self.id).octets());
        frame.extend(to.octets());
        let sum = !ones_complement_sum(&frame[14..]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend(source_port.to_be_bytes());
        frame.extend([0, 9]);
        frame.extend((8 + payload.len() as u16).to_be_bytes());
        frame.extend([0, 0]);
        frame.extend_from_slice(payload);
        frame
    }

    fn read(&self, frame: &[u8]) -> Option<Delivered> {
        let packet = frame.get(14..)?;
        let header = packet.get(..28)?;
        let mine = word(frame, 12) == IPV4 && header[16..20] == ip_of(self.id).octets();
        let whole =
            ones_complement_sum(&header[..20]) == 0xffff && usize::from(word(header, 2)) == packet.len();
        (mine && whole).then(|| Delivered {
            host: self.id,
            from: Ipv4Addr::new(header[12], header[13], header[14], header[15]),
            from_mac: Mac([frame[6], frame[7], frame[8], frame[9], frame[10], frame[11]]),
            payload: packet[28..].to_vec(),
        })
    }
}
