//! Finds servers that can reach each other without passing another server: those on one Ethernet
//! segment.
//!
//! A segment is a set of switches joined by links, with all server ports at them, or the two ports
//! of a link between servers.

use super::Place;
use super::behaviour::Behaviour;
use crate::error::{FabricError, Result};

/// A server reached through a port without passing another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The port through which it is reached.
    pub port: u16,
    /// Index of the server.
    pub server: usize,
    /// Port of that server on the segment.
    pub far_port: u16,
}

/// A server port on a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Index of the server.
    pub server: usize,
    /// Port of the server.
    pub port: u16,
    /// The switch port that it is attached to; `None` on a link between servers.
    pub switch_port: Option<u32>,
}

/// The server ports of each segment.
pub fn segments(switches: usize, places: &[[Place; 2]]) -> Vec<Vec<Member>> {
    let mut roots: Vec<usize> = (0..switches).collect();
    for places in places {
        if let [Place::Switch { switch: a, .. }, Place::Switch { switch: b, .. }] = *places {
            let (a, b) = (root(&mut roots, a), root(&mut roots, b));
            roots[a] = b;
        }
    }
    let mut segments = vec![Vec::new(); switches];
    for places in places {
        match *places {
            [
                Place::Server { server, port },
                Place::Switch { switch, port: far },
            ]
            | [
                Place::Switch { switch, port: far },
                Place::Server { server, port },
            ] => {
                let switch_port = Some(far);
                segments[root(&mut roots, switch)].push(Member {
                    server,
                    port,
                    switch_port,
                });
            }
            [
                Place::Server {
                    server: a,
                    port: a_port,
                },
                Place::Server {
                    server: b,
                    port: b_port,
                },
            ] => {
                let member = |server, port| Member {
                    server,
                    port,
                    switch_port: None,
                };
                segments.push(vec![member(a, a_port), member(b, b_port)]);
            }
            [Place::Switch { .. }, Place::Switch { .. }] => {}
        }
    }
    segments
}

fn root(roots: &mut [usize], mut switch: usize) -> usize {
    while roots[switch] != switch {
        roots[switch] = roots[roots[switch]];
        switch = roots[switch];
    }
    switch
}

/// Every server's neighbours, ordered by port, then as in the description.
///
/// Errors: links between switches where servers forward, a switch with more ports than the protocol
/// can distinguish.
pub fn find_neighbours(
    behaviour: Behaviour,
    servers: usize,
    places: &[[Place; 2]],
    segments: &[Vec<Member>],
) -> Result<Vec<Vec<Neighbour>>> {
    let mut neighbours = vec![Vec::new(); servers];
    if !behaviour.forwards() {
        return Ok(neighbours);
    }
    let protocol = behaviour.entry.name;
    if places.iter().any(|places| places.iter().all(Place::is_switch)) {
        let limit = "a protocol whose servers forward nothing, if switches are linked to switches";
        let fix = "use the protocol of the topology's family";
        return Err(FabricError::bad("network.protocol", protocol, limit, fix));
    }
    let most = behaviour.entry.max_switch_ports;
    let ports = segments.iter().flatten().filter_map(|member| member.switch_port);
    if let Some(port) = ports.max().filter(|port| *port >= most) {
        let limit = format!("switch ports below {most} with {protocol}");
        let fix = "use smaller switches";
        return Err(FabricError::bad(
            "network.links",
            format!("switch port {port}"),
            limit,
            fix,
        ));
    }
    for segment in segments {
        for member in segment {
            for other in segment.iter().filter(|other| other.server != member.server) {
                neighbours[member.server].push(Neighbour {
                    port: member.port,
                    server: other.server,
                    far_port: other.port,
                });
            }
        }
    }
    for neighbours in &mut neighbours {
        neighbours.sort_by_key(|neighbour| (neighbour.port, neighbour.server));
    }
    Ok(neighbours)
}
