//! What is said to a process: a datagram a call. Numbers are little-endian; a coordinate is three
//! bytes.
//!
//! ```text
//! kind u8 | instance u32 | call u32 | now_ms u64 | free ports u8 | waiting u32 | random u64 | then by kind:
//! 0 init       here | size of each axis u16 | longest payload u32 | the service's name
//! 1 network    by port: lives u8, coordinate | whole u8; unless whole, by coordinate: 1 someone answers + 2 reachable, who
//! 2 packet     port u8 | hops u8 | 1 this server answers for the key + 2 sent for one hop | key | colour u16 | payload
//! 3 message    the message
//! 4 timer
//! 5 neighbour  port u8 | lives u8
//! ```

use cubeyard_dataplane::service::{Context, Journey, Packet};

/// Ports of a server.
const PORTS: u8 = 6;

/// The event that a call reports.
#[derive(Clone, Copy, Debug)]
pub enum About<'a> {
    /// The process starts.
    Init(&'a str),
    /// The network is another than before.
    Network,
    /// A packet arrived.
    Packet(u8, &'a Packet, Journey),
    /// A message from outside.
    Message(&'a [u8]),
    /// A timer that the process set has fired.
    Timer,
    /// A neighbour died or lives.
    Neighbour(u8, bool),
}

/// A call as a datagram.
pub fn emit(context: &mut dyn Context, instance: u32, call: u32, about: About<'_>) -> Vec<u8> {
    let kind = match about {
        About::Init(_) => 0,
        About::Network => 1,
        About::Packet(..) => 2,
        About::Message(_) => 3,
        About::Timer => 4,
        About::Neighbour(..) => 5,
    };
    let mut bytes = vec![kind];
    bytes.extend(instance.to_le_bytes());
    bytes.extend(call.to_le_bytes());
    bytes.extend((context.now().as_millis() as u64).to_le_bytes());
    bytes.push(context.free_ports());
    bytes.extend((context.waiting() as u32).to_le_bytes());
    bytes.extend(context.random().to_le_bytes());
    match about {
        About::Init(name) => {
            bytes.extend(context.here());
            for size in context.size() {
                bytes.extend((size as u16).to_le_bytes());
            }
            bytes.extend((context.max_payload() as u32).to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        About::Network => network(context, &mut bytes),
        About::Packet(port, packet, journey) => {
            let mine = u8::from(context.responsible(packet.key));
            bytes.extend([port, journey.hops, mine | u8::from(journey.one_hop) << 1]);
            bytes.extend(packet.key);
            bytes.extend(packet.colour.to_le_bytes());
            bytes.extend(&packet.payload);
        }
        About::Message(message) => bytes.extend(message),
        About::Timer => {}
        About::Neighbour(port, up) => bytes.extend([port, u8::from(up)]),
    }
    bytes
}

fn network(context: &dyn Context, bytes: &mut Vec<u8>) {
    for port in 0..PORTS {
        let neighbour = context.neighbour(port);
        bytes.push(neighbour.is_some().into());
        bytes.extend(neighbour.unwrap_or_default());
    }
    let [width, depth, height] = context.size();
    let mut whole = true;
    let mut servers = Vec::with_capacity(4 * (width * depth * height) as usize);
    for z in 0..height {
        for y in 0..depth {
            for x in 0..width {
                let key = [x as u8, y as u8, z as u8];
                let (root, reachable) = (context.root_of(key), context.reachable(key));
                whole &= reachable && root == Some(key);
                servers.push(u8::from(root.is_some()) | u8::from(reachable) << 1);
                servers.extend(root.unwrap_or_default());
            }
        }
    }
    bytes.push(whole.into());
    // For a network without failures nothing more is sent.
    if !whole {
        bytes.extend(servers);
    }
}
