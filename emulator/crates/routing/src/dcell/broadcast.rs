//! DCellBroadcast: flooding with duplicates dropped. `[dcell §4.2]`

use cubeyard_topology::NodeId;

use super::group::Group;
use super::shape::Shape;
use crate::failures::Failures;

/// The first arrival of a broadcast packet at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The server that received it.
    pub server: NodeId,
    /// The server that sent it.
    pub from: NodeId,
    /// The level of the link between the two.
    pub level: u8,
    /// Hops from the source.
    pub hops: u32,
}

/// The result of a broadcast.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broadcast {
    /// First receptions, nearest first: a tree, in which every sender comes before its receivers.
    pub deliveries: Vec<Delivery>,
    /// Packets put on live ports, duplicates included: the source sends on all of its ports,
    /// everyone else on all but the one of the first reception. A mini-switch repeats a packet to
    /// its other ports.
    pub packets: u64,
}

/// Broadcasts from `source` to its DCell_`scope`: all servers that live parts connect to it receive
/// the packet.
pub fn dcell_broadcast(shape: &Shape, source: NodeId, scope: usize, failures: &Failures) -> Broadcast {
    let scope = scope.min(shape.k());
    let mut broadcast = Broadcast::default();
    if failures.node_failed(source) {
        return broadcast;
    }
    let mut group = Group::default();
    let alive = |from, to, level| shape.hop_alive(from, to, level, failures);
    group.search(shape, alive, scope, source);
    for (index, (server, from, level)) in group.tree().enumerate() {
        let ports = (0..=scope)
            .filter(|&port| {
                (port == 0 || shape.peer(server, port).is_some()) && shape.port_alive(server, port, failures)
            })
            .count() as u64;
        if index == 0 {
            broadcast.packets += ports;
            broadcast.deliveries.push(Delivery {
                server,
                from: server,
                level: 0,
                hops: 0,
            });
        } else {
            broadcast.packets += ports - 1;
            let before = &broadcast.deliveries[from];
            let delivery = Delivery {
                server,
                from: before.server,
                level,
                hops: before.hops + 1,
            };
            broadcast.deliveries.push(delivery);
        }
    }
    // The source already has the packet.
    broadcast.deliveries.remove(0);
    broadcast
}
