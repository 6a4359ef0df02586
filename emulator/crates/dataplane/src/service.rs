//! Services: programs that run next to a server's protocol, one instance on every server, and route
//! their own packets. `[camcube §2.1.1, §5]`
//!
//! A service is sans-IO like everything here: it is called with packets, messages and times, and
//! acts through the methods of its [`Context`]. The same service runs in a container and in virtual
//! time. The protocol hosts services ([`crate::protocol::Protocol::services`]); the owner of the
//! sockets polls it for packets whenever a link is free.

use serde::Serialize;

use crate::protocol::Time;

/// A coordinate of a key or a server.
pub type Key = [u8; 3];
/// Port in [`Service::packet`] for a packet that this server itself sent.
pub const LOCAL: u8 = 255;
/// A client's connection to a service, by the number that the owner of the sockets gave it.
pub type ClientId = u32;
/// Most coordinates that [`Service::route`] may return.
pub const MAX_KEYS: usize = 16;
/// Longest module of a user's service, in bytes.
pub const MAX_MODULE_BYTES: usize = 128 * 1024;
/// Maximum number of users' services per server.
pub const MAX_USER_SERVICES: usize = 4;
/// First number of users' services. Lower numbers belong to built-in services.
pub const FIRST_USER_ID: u16 = 256;
/// Longest name of a service.
pub const MAX_NAME_BYTES: usize = 32;
/// Maximum number of services per server.
pub const MAX_SERVICES: usize = 16;
/// Maximum number of queues per service on a server.
pub const MAX_QUEUES: usize = 16;

/// Longest message to a service from outside, in bytes. It must fit a datagram to the node, encoded
/// in hexadecimal digits.
pub const MAX_MESSAGE_BYTES: usize = 30 * 1024;

/// Whether a text is a valid name of a service: lower-case letters, digits and hyphens, starting
/// with a letter.
pub fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let allowed = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.len() <= MAX_NAME_BYTES
        && bytes.iter().all(allowed)
}

/// A service in the catalogue, with everything that a user needs to send messages to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ServiceEntry {
    /// Name, as [`Service::name`] returns it.
    pub name: &'static str,
    /// Name of the service for users.
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
    /// A valid message of this kind.
    pub example: &'static str,
    /// Whether every server must get the message, and not just one.
    pub to_every_server: bool,
}

/// A packet of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The key coordinate to which the packet is routed; unused if the packet is not routed.
    pub key: Key,
    /// For use by the service.
    pub colour: u16,
    /// The data of the packet.
    pub payload: Vec<u8>,
}

/// A service's decision on an arrived packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Pass the packet to the routing service, which forwards it to its key or, if this server owns
    /// the key, as [`Service::route`] decides.
    Pass,
    /// Forward the packet as [`Service::route`] decides, independent of the owner of its key.
    Route,
    /// Nothing more: the service has used the packet.
    Consumed,
    /// Drop and count the packet.
    Drop,
}

/// The path of a packet so far. A service that decides later passes it back with its decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Journey {
    /// The port of arrival; `None` for a packet that begins at this server.
    pub from: Option<u8>,
    /// Number of hops so far.
    pub hops: u8,
    /// Number of calls that the packet has caused on this server.
    pub steps: u32,
    /// Whether the packet was sent for one hop only, by [`Context::send`].
    pub one_hop: bool,
}

/// How packets wait in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePolicy {
    /// Longest time in the queue, in milliseconds.
    pub max_millis: u32,
    /// Weight among the queues of the service; at least 1.
    pub weight: u32,
}

impl Default for QueuePolicy {
    /// Waits at most a second, and has the same weight as any other queue. `[ours]`
    fn default() -> QueuePolicy {
        QueuePolicy {
            max_millis: 1000,
            weight: 1,
        }
    }
}

/// An instance of a service on one server.
pub trait Service {
    /// Name, unique among the services of a server.
    fn name(&self) -> &str;

    /// Handles a packet that arrived at a port or, with [`LOCAL`], was sent by this server itself.
    /// May change the packet.
    fn packet(&mut self, context: &mut dyn Context, port: u8, packet: &mut Packet) -> Action;

    /// The function F `[camcube §5]`: returns at most [`MAX_KEYS`] key coordinates. The packet goes
    /// to one of them next, or ends here if there are none. `at` is the coordinate for which F is
    /// evaluated; after failures it can belong to another server.
    fn route(&mut self, context: &mut dyn Context, at: Key, packet: &mut Packet) -> Vec<Key>;

    /// The queue for a packet, below [`MAX_QUEUES`]. With a higher number the packet is lost.
    fn classify(&mut self, packet: &Packet) -> u8 {
        let _ = packet;
        0
    }

    /// The policy of a queue; called once, before the queue's first packet.
    fn queue(&mut self, queue: u8) -> QueuePolicy {
        let _ = queue;
        QueuePolicy::default()
    }

    /// A packet of the service has left by a port, so that the link accepts the next one: this is
    /// how services are polled. `[camcube §2.1.1]`
    fn sent(&mut self, context: &mut dyn Context, port: u8) {
        let _ = (context, port);
    }

    /// A neighbour died, or is alive again.
    fn neighbour(&mut self, context: &mut dyn Context, port: u8, up: bool) {
        let _ = (context, port, up);
    }

    /// The timer of [`Context::set_timer`] has fired.
    fn timer(&mut self, context: &mut dyn Context) {
        let _ = context;
    }

    /// Handles a message of a user or program outside the network.
    fn message(&mut self, context: &mut dyn Context, bytes: &[u8]) {
        let _ = (context, bytes);
    }

    /// The service was woken by [`Services::wake`]: an external program has answered.
    fn woken(&mut self, context: &mut dyn Context) {
        let _ = context;
    }

    /// Counters that the service keeps itself, by name, in addition to those of [`Context::count`].
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The TCP port for clients on every server; `None` for a service without clients.
    fn tcp_port(&self) -> Option<u16> {
        None
    }

    /// Handles bytes from a client.
    fn client(&mut self, context: &mut dyn Context, client: ClientId, bytes: &[u8]) {
        let _ = (context, client, bytes);
    }

    /// A client has finished sending, but may still read: the service answers the pending commands,
    /// then closes the connection.
    fn client_ended(&mut self, context: &mut dyn Context, client: ClientId) {
        context.hang_up(client);
    }
}

/// The network's state and the actions that are available to a service during a call. Distances are
/// hops in the torus without failures.
pub trait Context {
    /// Time of the call.
    fn now(&self) -> Time;
    /// Coordinate of this server.
    fn here(&self) -> Key;
    /// Number of servers along each axis.
    fn size(&self) -> [u32; 3];
    /// The coordinate of the live neighbour at a port.
    fn neighbour(&self, port: u8) -> Option<Key>;
    /// Whether the server at a coordinate is alive and reachable.
    fn reachable(&self, server: Key) -> bool;
    /// Whether this server owns a key.
    fn responsible(&self, key: Key) -> bool {
        self.root_of(key) == Some(self.here())
    }
    /// A number that changes whenever [`Context::neighbour`], [`Context::reachable`] or
    /// [`Context::root_of`] can give other results.
    fn version(&self) -> u64;
    /// Bit mask of the ports by which [`Context::send`] can send now.
    fn free_ports(&self) -> u8;
    /// The coordinate of the server that owns a key; `None` for a key outside the network.
    fn root_of(&self, key: Key) -> Option<Key>;
    /// Number of hops between two coordinates.
    fn dist(&self, a: Key, b: Key) -> u32;
    /// Number of hops between two coordinates along one axis.
    fn dist_axis(&self, a: Key, b: Key, axis: usize) -> u32;
    /// The coordinate next to another along an axis, upwards or downwards.
    fn neighbour_key(&self, key: Key, axis: usize, up: bool) -> Key;

    /// Sends a packet one hop by a port if the link is free; else returns `false`.
    fn send(&mut self, port: u8, packet: Packet) -> bool;
    /// Hands a packet to the routing service, which calls [`Service::route`] for this server's
    /// coordinate.
    fn route(&mut self, packet: Packet);
    /// Sends a copy of a packet to one of these keys, without calling [`Service::route`] on this
    /// server.
    fn transmit(&mut self, packet: Packet, keys: &[Key]);
    /// The path so far of the packet that caused the call.
    fn journey(&self) -> Journey;
    /// Sends a packet with this journey to one of these keys, through a queue that the caller
    /// chooses. For decisions that come after [`Service::packet`] has returned.
    fn forward(&mut self, packet: Packet, keys: &[Key], queue: u8, journey: Journey);
    /// Sends an answer to the outside client of the service.
    fn deliver(&mut self, bytes: Vec<u8>);
    /// Sends bytes to a client, which may have disconnected.
    fn reply(&mut self, client: ClientId, bytes: Vec<u8>);
    /// Ends the connection to a client once all data to it has been sent.
    fn hang_up(&mut self, client: ClientId);
    /// Longest payload of a packet, in bytes.
    fn max_payload(&self) -> usize;
    /// Packets of this service that were waiting here when it was called.
    fn waiting(&self) -> usize;
    /// Draws a random number.
    fn random(&mut self) -> u64;
    /// Sets the timer of [`Service::timer`]. There is one timer; a new call replaces the time.
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
    /// Whether to close the connection after these bytes.
    pub last: bool,
}

/// Serves clients at TCP ports of a server; the interface for the owner of the sockets.
pub trait ServesClients {
    /// The TCP ports to listen on.
    fn tcp_ports(&self) -> Vec<u16>;

    /// Handles bytes of a client at a TCP port. Numbers of clients are unique across all ports.
    fn client(&mut self, now: Time, tcp_port: u16, client: ClientId, bytes: &[u8]);

    /// A client has finished sending, or has disconnected.
    fn client_ended(&mut self, now: Time, tcp_port: u16, client: ClientId);

    /// The next bytes to send to a client.
    fn poll_reply(&mut self) -> Option<Reply>;
}

/// A server's services; the interface for the owner of the sockets.
pub trait Services: ServesClients {
    /// Adds a service with this number. Errors, as a message: the number or the name is taken, or
    /// there are [`MAX_SERVICES`] already.
    fn host(&mut self, now: Time, id: u16, service: Box<dyn Service>) -> Result<(), String>;

    /// Handles a packet of a service that arrived at a port.
    fn arrive(&mut self, now: Time, port: u8, bytes: &[u8]);

    /// The next packet for a port whose link is free. After `None`, call it again when
    /// [`Services::has_news`].
    fn next_packet(&mut self, now: Time, port: u8) -> Option<Vec<u8>>;

    /// Whether packets were queued since the last call, so that free links should be polled.
    fn has_news(&mut self) -> bool;

    /// Passes a message from outside to a service. Errors: no such service; the message lists the
    /// existing ones.
    fn message(&mut self, now: Time, service: &str, bytes: &[u8]) -> Result<(), String>;

    /// Wakes the service with this number, for which an external program has answered
    /// ([`Service::woken`]).
    fn wake(&mut self, now: Time, id: u16);

    /// The next answer for a client outside the network: the name of the service, and the bytes.
    fn poll_answer(&mut self) -> Option<(String, Vec<u8>)>;
}
