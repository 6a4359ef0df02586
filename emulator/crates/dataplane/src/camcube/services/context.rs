//! A service's view of the network during a call, and the requests that the service makes.

use std::collections::BTreeMap;

use cubeyard_routing::random::Draws;
use cubeyard_topology::NodeId;

use crate::camcube::structure::Structure;
use crate::protocol::Time;
use crate::service::{ClientId, Context, Journey, Key, Packet};

/// A server's view of its network.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Id of this server.
    pub me: NodeId,
    /// Torus of the run.
    pub structure: &'a Structure,
    /// Bit mask of the ports on shortest live paths to a server; 0 for this server and for
    /// unreachable ones.
    pub shortest: &'a dyn Fn(NodeId) -> u8,
    /// Indexed by the home server of keys: the live server that owns these keys.
    pub roots: &'a [Option<NodeId>],
    /// Bit mask of ports with a living neighbour.
    pub up: u8,
    /// Longest payload of a packet, in bytes.
    pub max_payload: usize,
}

impl View<'_> {
    /// The server that owns a key.
    pub fn root(&self, key: Key) -> Option<NodeId> {
        let home = self.structure.home(key)?;
        self.roots.get(home as usize).copied().flatten()
    }

    /// The ports on shortest paths to the owner of a key.
    pub fn ports_to(&self, key: Key) -> u8 {
        let root = self.root(key);
        root.map_or(0, |root| (self.shortest)(root) & self.up)
    }
}

/// A request that a service made during a call.
#[derive(Debug)]
pub enum Request {
    /// From [`Context::send`], for a free link.
    Send(u8, Packet),
    /// From [`Context::route`], a packet.
    Route(Packet),
    /// From [`Context::transmit`], a packet with its keys.
    Transmit(Packet, Vec<Key>),
    /// From [`Context::forward`], with keys, queue and journey.
    Forward(Packet, Vec<Key>, u8, Journey),
    /// From [`Context::deliver`], the bytes.
    Deliver(Vec<u8>),
    /// From [`Context::reply`], to a client.
    Reply(ClientId, Vec<u8>),
    /// From [`Context::hang_up`], for a client.
    HangUp(ClientId),
}

/// One call of a service.
pub struct Call<'a> {
    /// The network as this server sees it.
    pub view: View<'a>,
    /// The time of the call.
    pub now: Time,
    /// A number that increases with each change of the view.
    pub version: u64,
    /// Bit mask of the ports where the service's queue, of one packet, is full.
    pub busy: u8,
    /// Number of waiting packets of the service.
    pub waiting: usize,
    /// The path so far of the packet that caused the call.
    pub journey: Journey,
    /// The requests so far, in order.
    pub requests: Vec<Request>,
    /// The service's timer, if set.
    pub timer: &'a mut Option<Time>,
    /// The service's counters by name.
    pub counters: &'a mut BTreeMap<&'static str, u64>,
    /// The random number generator.
    pub draws: &'a mut Draws,
}

impl Context for Call<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn here(&self) -> Key {
        self.view.structure.key(self.view.me)
    }

    fn size(&self) -> [u32; 3] {
        self.view.structure.shape().sizes()
    }

    fn neighbour(&self, port: u8) -> Option<Key> {
        let structure = self.view.structure;
        let alive = port < structure.ports() && self.view.up >> port & 1 == 1;
        let far = structure.far(self.view.me, port).filter(|_| alive);
        far.map(|server| structure.key(server))
    }

    fn reachable(&self, server: Key) -> bool {
        let server = self.view.structure.home(server);
        server.is_some_and(|server| server == self.view.me || (self.view.shortest)(server) != 0)
    }

    fn root_of(&self, key: Key) -> Option<Key> {
        self.view.root(key).map(|root| self.view.structure.key(root))
    }

    fn dist(&self, a: Key, b: Key) -> u32 {
        (0..3).map(|axis| self.dist_axis(a, b, axis)).sum()
    }

    fn dist_axis(&self, a: Key, b: Key, axis: usize) -> u32 {
        let size = self.size()[axis];
        let apart = u32::from(a[axis].abs_diff(b[axis]));
        apart.min(size.saturating_sub(apart))
    }

    fn neighbour_key(&self, key: Key, axis: usize, up: bool) -> Key {
        let size = self.size()[axis];
        let by = if up { 1 } else { size - 1 };
        let mut beside = key;
        beside[axis] = ((u32::from(key[axis]) + by) % size) as u8;
        beside
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn free_ports(&self) -> u8 {
        self.view.up & !self.busy
    }

    fn send(&mut self, port: u8, packet: Packet) -> bool {
        let free = self.neighbour(port).is_some() && self.busy >> port & 1 == 0;
        if free {
            self.busy |= 1 << port;
            self.requests.push(Request::Send(port, packet));
        }
        free
    }

    fn route(&mut self, packet: Packet) {
        self.requests.push(Request::Route(packet));
    }

    fn transmit(&mut self, packet: Packet, keys: &[Key]) {
        self.requests.push(Request::Transmit(packet, keys.to_vec()));
    }

    fn journey(&self) -> Journey {
        self.journey
    }

    fn forward(&mut self, packet: Packet, keys: &[Key], queue: u8, journey: Journey) {
        let request = Request::Forward(packet, keys.to_vec(), queue, journey);
        self.requests.push(request);
    }

    fn deliver(&mut self, bytes: Vec<u8>) {
        self.requests.push(Request::Deliver(bytes));
    }

    fn reply(&mut self, client: ClientId, bytes: Vec<u8>) {
        self.requests.push(Request::Reply(client, bytes));
    }

    fn hang_up(&mut self, client: ClientId) {
        self.requests.push(Request::HangUp(client));
    }

    fn max_payload(&self) -> usize {
        self.view.max_payload
    }

    fn waiting(&self) -> usize {
        self.waiting
    }

    fn random(&mut self) -> u64 {
        self.draws.next_bits()
    }

    fn set_timer(&mut self, at: Time) {
        *self.timer = Some(at);
    }

    fn count(&mut self, counter: &'static str, by: u64) {
        *self.counters.entry(counter).or_default() += by;
    }
}
