//! The CPU of a switch: gets ARP from the chip, gives hosts their PMACs, and speaks with the fabric
//! manager.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_topology::NodeId;

use super::host::{Arp, BROADCAST};
use super::tables::{Known, Pmac, program};
use super::tree::Tree;
use crate::driver::ServerSwitch;
use crate::entries::Mac;
use crate::profile::EXTERNAL_PORTS;
use crate::text;

/// Messages from an edge to the fabric manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToManager {
    /// A host is at this switch.
    Register(Ipv4Addr, Pmac),
    /// The host with this PMAC has gone.
    Forget(Ipv4Addr, Pmac),
    /// A query for the PMAC of an address, for a host with its PMAC and address.
    Query(Ipv4Addr, (Pmac, Ipv4Addr)),
}

/// Messages from the fabric manager to an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToEdge {
    /// The PMAC of an address, for a host.
    Answer(Ipv4Addr, Pmac, (Pmac, Ipv4Addr)),
    /// Ask the hosts whose address this is, for a host.
    Flood(Ipv4Addr, (Pmac, Ipv4Addr)),
    /// Go by what of the tree was alive at this moment, by its number.
    Learn(u64),
}

/// Number of polls without any packet after which a host is forgotten. `[ours]`
pub const SILENT_LOOKS: u32 = 5;

/// A host that an edge's CPU has met at a port, also once it is forgotten.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    pub host: Known,
    /// The IP address that it announced.
    pub address: Ipv4Addr,
    /// Packets that had come in by the port at the last look.
    packets: u64,
    /// Looks since one came in.
    quiet_looks: u32,
}

/// A switch with its CPU. Those above the edge have no hosts, so theirs only sets tables.
#[derive(Clone, Debug)]
pub struct Switch {
    pub id: NodeId,
    pub chip: ServerSwitch,
    known: BTreeMap<u8, Known>,
    watched: BTreeMap<u8, Watched>,
    latest: u16,
    /// The tree in the latest message.
    tree: Tree,
}

/// Frames that leave by ports.
pub type Out = Vec<(u8, Vec<u8>)>;

impl Switch {
    pub fn new(id: NodeId, tree: &Tree) -> Switch {
        let mut switch = Switch {
            id,
            chip: ServerSwitch::new(),
            known: BTreeMap::new(),
            watched: BTreeMap::new(),
            latest: 0,
            tree: tree.clone(),
        };
        switch.commit();
        switch
    }

    /// Stores the failures that the fabric manager reports. Returns whether they change the
    /// program.
    pub fn learn(&mut self, tree: &Tree) -> bool {
        let before = self.program();
        self.tree = tree.clone();
        let changes = before != self.program();
        if changes {
            self.commit();
        }
        changes
    }

    /// The program, as text.
    pub fn program(&self) -> String {
        program(&self.tree, self.id, &self.known)
    }

    fn commit(&mut self) {
        let loaded = text::read(&self.program()).and_then(|program| self.chip.load(program));
        debug_assert!(loaded.is_ok(), "{loaded:?}");
    }

    /// Processes the packets that the chip has sent to the CPU; returns the messages to the fabric
    /// manager.
    pub fn work(&mut self) -> Vec<ToManager> {
        let mut told = Vec::new();
        while let Some((cpu_port, frame)) = self.chip.recv_packet() {
            told.extend(self.on_packet(cpu_port - EXTERNAL_PORTS, &frame));
        }
        told
    }

    /// Processes a packet for the CPU that arrived by an external port; returns the messages to the
    /// fabric manager.
    pub fn on_packet(&mut self, port: u8, frame: &[u8]) -> Vec<ToManager> {
        let mut told = Vec::new();
        // A host without an address yet cannot be answered.
        let is_from_host = |arp: &Arp| self.has_host(port) && !arp.sender.1.is_unspecified();
        let Some(arp) = Arp::read(frame).filter(is_from_host) else {
            return told;
        };
        let asker = self.meet(port, arp.sender, &mut told);
        // A gratuitous ARP only announces the host.
        if !arp.is_reply && arp.sender.1 != arp.target.1 {
            told.push(ToManager::Query(arp.target.1, (asker, arp.sender.1)));
        }
        told
    }

    /// The hosts that are known, by port.
    pub fn known(&self) -> &BTreeMap<u8, Known> {
        &self.known
    }

    /// The known hosts by port, including silent ones.
    pub fn watched(&self) -> &BTreeMap<u8, Watched> {
        &self.watched
    }

    /// Polls every host periodically: sends an ARP probe for its own MAC, as in RFC 5227, and
    /// forgets a host if nothing has arrived by its port for [`SILENT_LOOKS`] polls. `packets` is
    /// the number of packets that have arrived by a port so far. A host that answers later is
    /// restored with its old PMAC.
    pub fn look(&mut self, packets: impl Fn(u8) -> u64) -> (Vec<ToManager>, Out) {
        let (mut told, mut probes) = (Vec::new(), Vec::new());
        for (&port, watched) in &mut self.watched {
            let so_far = packets(port);
            let is_quiet = so_far == watched.packets;
            watched.quiet_looks = if is_quiet { watched.quiet_looks + 1 } else { 0 }.min(SILENT_LOOKS);
            watched.packets = so_far;
            let Known { mac, pmac } = watched.host;
            if watched.quiet_looks == SILENT_LOOKS && self.known.remove(&port).is_some() {
                told.push(ToManager::Forget(watched.address, pmac));
            }
            // The number 0 is the edge's own.
            let own = Pmac { vmid: 0, ..pmac };
            let probe = Arp {
                is_reply: false,
                sender: (own.mac(), Ipv4Addr::UNSPECIFIED),
                target: (Mac([0; 6]), watched.address),
            };
            probes.push((port, probe.frame(mac)));
        }
        if !told.is_empty() {
            self.commit();
        }
        let sent = probes.into_iter();
        (
            told,
            sent.flat_map(|(port, frame)| self.out_of(port, &frame)).collect(),
        )
    }

    /// Whether a port is a host's.
    fn has_host(&self, port: u8) -> bool {
        let end = self.tree.end(self.id, port);
        end.is_some_and(|(next, _)| self.tree.topology().is_server(next))
    }

    /// The PMAC of a host at a port; a host that was not met before gets one.
    fn meet(&mut self, port: u8, (mac, ip): (Mac, Ipv4Addr), told: &mut Vec<ToManager>) -> Pmac {
        if let Some(known) = self.known.get(&port).filter(|known| known.mac == mac) {
            return known.pmac;
        }
        let before = self.watched.get(&port).copied();
        let pmac = match before {
            Some(before) if before.host.mac == mac => before.host.pmac,
            _ => self.new_pmac(port),
        };
        if let (Some(before), Some(known)) = (before, self.known.get(&port)) {
            told.push(ToManager::Forget(before.address, known.pmac));
        }
        let host = Known { mac, pmac };
        let watched = Watched {
            host,
            address: ip,
            packets: 0,
            quiet_looks: 0,
        };
        self.watched.insert(port, watched);
        self.known.insert(port, host);
        self.commit();
        told.push(ToManager::Register(ip, pmac));
        pmac
    }

    fn new_pmac(&mut self, port: u8) -> Pmac {
        // 0 is nobody's number.
        self.latest = self.latest.checked_add(1).unwrap_or(1);
        let (pod, position) = self.tree.place(self.id);
        Pmac {
            pod,
            position,
            port,
            vmid: self.latest,
        }
    }

    /// Handles a message of the fabric manager; returns the packets to send.
    pub fn on_manager(&mut self, message: ToEdge) -> Out {
        match message {
            ToEdge::Answer(ip, pmac, (asker, asker_ip)) => {
                let host = self.known.get(&asker.port).filter(|known| known.pmac == asker);
                let Some(host) = host.copied() else {
                    return Vec::new();
                };
                let target = (host.mac, asker_ip);
                let sender = (pmac.mac(), ip);
                let arp = Arp {
                    is_reply: true,
                    sender,
                    target,
                };
                self.out_of(asker.port, &arp.frame(host.mac))
            }
            // The owner of the messages passes the tree of that moment to `learn`.
            ToEdge::Learn(_) => Vec::new(),
            ToEdge::Flood(ip, (asker, asker_ip)) => {
                let arp = Arp {
                    is_reply: false,
                    sender: (asker.mac(), asker_ip),
                    target: (Mac([0; 6]), ip),
                };
                let is_asker = |port: u8| self.known.get(&port).is_some_and(|known| known.pmac == asker);
                let hosts = |port: &u8| self.has_host(*port) && !is_asker(*port);
                let ports: Vec<u8> = (0..EXTERNAL_PORTS).filter(hosts).collect();
                ports
                    .into_iter()
                    .flat_map(|port| self.out_of(port, &arp.frame(BROADCAST)))
                    .collect()
            }
        }
    }

    /// `SendPacket` out of an external port.
    fn out_of(&mut self, port: u8, frame: &[u8]) -> Out {
        let mut out = Vec::new();
        let sent = self
            .chip
            .send_packet(frame, port, &mut |port, bytes| out.push((port, bytes.to_vec())));
        debug_assert!(sent.is_ok(), "{sent:?}");
        out
    }
}
