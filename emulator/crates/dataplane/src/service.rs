//! Services: programs that run next to a server's protocol, one instance on every server, and route
//! their own packets. `[camcube §2.1.1, §5]`
//!
//! A service is sans-IO like everything here: it is called with packets, messages and times, and
//! acts through the methods of its [`Context`]. The same service runs in a container and in virtual
//! time. The protocol hosts services ([`crate::protocol::Protocol::services`]); the owner of the
//! sockets polls it for packets whenever a link is free.

use serde::Serialize;

use crate::protocol::Time;

/// A coordinate, as keys and servers have it.
pub type Key = [u8; 3];
/// In [`Service::packet`]: the packet did not come by a link, but from this server itself.
pub const LOCAL: u8 = 255;
/// A client's connection to a service, numbered by the owner of the sockets.
pub type ClientId = u32;
/// Most coordinates that [`Service::route`] may return.
pub const MAX_KEYS: usize = 16;
/// Longest module of a service that a user wrote, in bytes; most of them in one run; and least of
/// their numbers: those below are of the services that every server has.
pub const MAX_MODULE_BYTES: usize = 128 * 1024;
/// The most services of users on a server.
pub const MAX_USER_SERVICES: usize = 4;
/// The first number of users' services.
pub const FIRST_USER_ID: u16 = 256;
/// Longest name of a service.
pub const MAX_NAME_BYTES: usize = 32;
/// Most services on one server.
pub const MAX_SERVICES: usize = 16;
/// Most queues of one service on one server.
pub const MAX_QUEUES: usize = 16;

/// Longest message to a service from outside, in bytes: it travels as hexadecimal digits in one
/// datagram to the node.
pub const MAX_MESSAGE_BYTES: usize = 30 * 1024;

/// Whether a text can be a service's name: small letters, digits and hyphens, a letter first.
pub fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let allowed = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.len() <= MAX_NAME_BYTES
        && bytes.iter().all(allowed)
}

/// A service in the catalogue, with the data needed to use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ServiceEntry {
    /// Its name, as [`Service::name`] gives it.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// A one-sentence description for users.
    pub description: &'static str,
    /// The messages that it understands.
    pub messages: &'static [MessageForm],
}

/// A kind of message that a service understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MessageForm {
    /// A short description for users.
    pub title: &'static str,
    /// A message of this kind that can be sent as it is.
    pub example: &'static str,
    /// Whether every server has to get one, rather than one server.
    pub to_every_server: bool,
}

/// A packet of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The key coordinate to which the packet is routed; meaningless for a packet that is not
    /// routed.
    pub key: Key,
    /// For use by the service.
    pub colour: u16,
    /// The data of the packet.
    pub payload: Vec<u8>,
}

/// The decision on a packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Hand the packet to the routing service, which forwards it to its key or, if this server owns
    /// the key, as [`Service::route`] decides.
    Pass,
    /// Forward it as [`Service::route`] decides, for any owner of its key.
    Route,
    /// The service has taken it in.
    Consumed,
    /// It is dropped and counted.
    Drop,
}

/// The path of a packet so far: a service that decides later passes it back with its decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Journey {
    /// The port that it came by; `None` for one that begins here.
    pub from: Option<u8>,
    /// Hops that it has taken.
    pub hops: u8,
    /// Calls that it has caused on this server.
    pub steps: u32,
    /// Whether it was sent for one hop only, by [`Context::send`].
    pub one_hop: bool,
}

/// How packets of one queue wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePolicy {
    /// Longest time in the queue, in milliseconds.
    pub max_millis: u32,
    /// Weight among the queues of the service; at least 1.
    pub weight: u32,
}

impl Default for QueuePolicy {
    /// A second, and as much as any other queue. `[ours]`
    fn default() -> QueuePolicy {
        QueuePolicy {
            max_millis: 1000,
            weight: 1,
        }
    }
}

/// An instance of a service on one server.
pub trait Service {
    /// Its name, unique among the services of a server.
    fn name(&self) -> &str;

    /// A packet arrived by a port, or from this server itself ([`LOCAL`]). It may be changed.
    fn packet(&mut self, context: &mut dyn Context, port: u8, packet: &mut Packet) -> Action;

    /// The function F `[camcube §5]`: returns key coordinates, at most [`MAX_KEYS`]; the packet
    /// goes to one of them next, or ends here if there are none. `at` is the coordinate for which F
    /// is evaluated, which after failures can be another server's.
    fn route(&mut self, context: &mut dyn Context, at: Key, packet: &mut Packet) -> Vec<Key>;

    /// The queue of a packet, below [`MAX_QUEUES`]; with any other number the packet is lost.
    fn classify(&mut self, packet: &Packet) -> u8 {
        let _ = packet;
        0
    }

    /// The policy of a queue; called once, before its first packet.
    fn queue(&mut self, queue: u8) -> QueuePolicy {
        let _ = queue;
        QueuePolicy::default()
    }

    /// A packet of the service has left by a port, whose link takes the next one: services are
    /// polled. `[camcube §2.1.1]`
    fn sent(&mut self, context: &mut dyn Context, port: u8) {
        let _ = (context, port);
    }

    /// A neighbour died or lives again.
    fn neighbour(&mut self, context: &mut dyn Context, port: u8, up: bool) {
        let _ = (context, port, up);
    }

    /// The timer of [`Context::set_timer`] has fired.
    fn timer(&mut self, context: &mut dyn Context) {
        let _ = context;
    }

    /// A message from people or programs outside the network.
    fn message(&mut self, context: &mut dyn Context, bytes: &[u8]) {
        let _ = (context, bytes);
    }

    /// The service was woken by [`Services::wake`]: an external program has answered.
    fn woken(&mut self, context: &mut dyn Context) {
        let _ = context;
    }

    /// Counters by name that the service keeps itself, in addition to those of [`Context::count`].
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The TCP port at which clients find it on every server; `None` for a service without clients.
    fn tcp_port(&self) -> Option<u16> {
        None
    }

    /// A client has sent bytes.
    fn client(&mut self, context: &mut dyn Context, client: ClientId, bytes: &[u8]) {
        let _ = (context, client, bytes);
    }

    /// A client sends nothing more, but may still read: the service answers the pending commands,
    /// then closes the connection.
    fn client_ended(&mut self, context: &mut dyn Context, client: ClientId) {
        context.hang_up(client);
    }
}

/// The queries and actions of a service during a call. Distances are hops in the torus without
/// failures.
pub trait Context {
    /// The time of the call.
    fn now(&self) -> Time;
    /// This server's own coordinate.
    fn here(&self) -> Key;
    /// Servers along each axis.
    fn size(&self) -> [u32; 3];
    /// The coordinate of the neighbour at a port, if there is one and it lives.
    fn neighbour(&self, port: u8) -> Option<Key>;
    /// Whether the server of a coordinate lives and can be reached.
    fn reachable(&self, server: Key) -> bool;
    /// Whether this server answers for a key.
    fn responsible(&self, key: Key) -> bool {
        self.root_of(key) == Some(self.here())
    }
    /// A number that changes whenever [`Context::neighbour`], [`Context::reachable`] or
    /// [`Context::root_of`] can give other results.
    fn version(&self) -> u64;
    /// The ports by which [`Context::send`] would send now, a bit each.
    fn free_ports(&self) -> u8;
    /// The server that answers for a key; `None` for a key outside the network.
    fn root_of(&self, key: Key) -> Option<Key>;
    /// Hops between two coordinates.
    fn dist(&self, a: Key, b: Key) -> u32;
    /// Hops between two coordinates along one axis.
    fn dist_axis(&self, a: Key, b: Key, axis: usize) -> u32;
    /// The coordinate next to another along an axis, upwards or downwards.
    fn neighbour_key(&self, key: Key, axis: usize, up: bool) -> Key;

    /// Sends a packet one hop by a port, if its link is free; else it is the service's to keep.
    fn send(&mut self, port: u8, packet: Packet) -> bool;
    /// Hands a packet to the routing service, which calls [`Service::route`] for this server's
    /// coordinate.
    fn route(&mut self, packet: Packet);
    /// Sends a copy of a packet to one of these keys, without asking [`Service::route`] here.
    fn transmit(&mut self, packet: Packet, keys: &[Key]);
    /// How far the packet has come that the call is about.
    fn journey(&self) -> Journey;
    /// Sends a packet with this journey to one of these keys, in a queue of the caller's choice:
    /// the delayed decision of [`Service::packet`].
    fn forward(&mut self, packet: Packet, keys: &[Key], queue: u8, journey: Journey);
    /// Sends an answer to the outside client of the service.
    fn deliver(&mut self, bytes: Vec<u8>);
    /// Sends bytes to a client, which may have gone.
    fn reply(&mut self, client: ClientId, bytes: Vec<u8>);
    /// Ends the connection to a client once all data to it has been sent.
    fn hang_up(&mut self, client: ClientId);
    /// Longest payload of a packet, in bytes.
    fn max_payload(&self) -> usize;
    /// Packets of this service that waited here when it was called.
    fn waiting(&self) -> usize;
    /// A number left to chance.
    fn random(&mut self) -> u64;
    /// Sets the timer of [`Service::timer`]; there is one timer, and the latest call counts.
    fn set_timer(&mut self, at: Time);
    /// Adds to one of the service's counters.
    fn count(&mut self, counter: &'static str, by: u64);
}

/// Data that a service sends to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The client's connection.
    pub client: ClientId,
    /// The bytes to send.
    pub bytes: Vec<u8>,
    /// Whether the connection ends after them.
    pub last: bool,
}

/// Serves clients at TCP ports of a server; the interface for the owner of the sockets.
pub trait ServesClients {
    /// The TCP ports to listen on.
    fn tcp_ports(&self) -> Vec<u16>;

    /// A client at a TCP port has sent bytes. Numbers of clients differ over all ports.
    fn client(&mut self, now: Time, tcp_port: u16, client: ClientId, bytes: &[u8]);

    /// A client sends nothing more, or is gone.
    fn client_ended(&mut self, now: Time, tcp_port: u16, client: ClientId);

    /// The next thing that a client is sent.
    fn poll_reply(&mut self) -> Option<Reply>;
}

/// A server's services; the interface for the owner of the sockets.
pub trait Services: ServesClients {
    /// Adds a service with this number. Errors: the number or the name is taken, or there are
    /// [`MAX_SERVICES`] already; a message that explains it.
    fn host(&mut self, now: Time, id: u16, service: Box<dyn Service>) -> Result<(), String>;

    /// A packet of a service arrived by a port.
    fn arrive(&mut self, now: Time, port: u8, bytes: &[u8]);

    /// The link of a port is free: the next packet for it. `None` until [`Services::has_news`].
    fn next_packet(&mut self, now: Time, port: u8) -> Option<Vec<u8>>;

    /// Whether packets were queued since the last call, so that free links should be polled.
    fn has_news(&mut self) -> bool;

    /// Passes a message from outside to a service. Errors: there is no such service; the message
    /// lists the existing ones.
    fn message(&mut self, now: Time, service: &str, bytes: &[u8]) -> Result<(), String>;

    /// Lets the service of a number do what it has waited for ([`Service::woken`]).
    fn wake(&mut self, now: Time, id: u16);

    /// The next answer for a client outside the network: the service and its message.
    fn poll_answer(&mut self) -> Option<(String, Vec<u8>)>;
}
