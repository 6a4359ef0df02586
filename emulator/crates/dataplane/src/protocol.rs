//! What every per-server protocol offers, whatever the family: BCube's BSR, and those of other families beside it.
//!
//! A protocol is sans-IO: it is told the time and what happened ([`Input`]), and asked what to do ([`Output`]). A
//! container feeds it from sockets and the monotonic clock, a test from a virtual network in virtual time.

use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_topology::NodeId;

use crate::address::Nha;
use crate::maps::Flow;
use crate::route::SourceRoute;

/// A moment: the time since the clock's own zero, which never goes back.
pub type Time = Duration;

/// A server's protocol.
pub trait Protocol {
    /// Takes in what happened. `now` never goes back from one call to the next.
    fn handle(&mut self, now: Time, input: Input<'_>);

    /// The next thing to do, in order; `None` when all is done.
    fn poll_output(&mut self) -> Option<Output>;

    /// When [`Input::Timeout`] is due, if nothing else happens before.
    fn next_timeout(&self) -> Option<Time>;

    /// What the protocol knows, for people.
    fn inspect(&self, now: Time) -> Inspection;
}

/// What can happen to a server.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The time of [`Protocol::next_timeout`] has come. One too many does no harm.
    Timeout,
    /// A control message came in by a port. Anybody may have sent it.
    Message {
        /// The port.
        port: u8,
        /// The sender's address.
        from: Ipv4Addr,
        /// The datagram's payload.
        bytes: &'a [u8],
    },
    /// A five-tuple sends its first packet from here.
    NewFlow(Flow),
    /// What a flow from here sends now; also tells that it is alive.
    FlowRate {
        /// The flow.
        flow: Flow,
        /// Its rate.
        bits_per_sec: f64,
    },
    /// A flow from here has ended.
    FlowEnded(Flow),
    /// The forwarding engine dropped a packet here since its next hop is down.
    NextHopDead {
        /// The next hop.
        nha: Nha,
        /// The server at the start of the packet's path.
        source: NodeId,
        /// The server at its end.
        destination: NodeId,
        /// Number of the path.
        path_id: u32,
    },
    /// A port's cable lost its carrier or has it again.
    Carrier {
        /// The port.
        port: u8,
        /// Whether there is a carrier.
        up: bool,
    },
    /// What a port's link could carry besides what it carries now.
    Available {
        /// The port.
        port: u8,
        /// From the server.
        out_bits_per_sec: f64,
        /// To the server.
        in_bits_per_sec: f64,
    },
}

/// What a protocol wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send a control message to a neighbour.
    Send {
        /// The port to send by.
        port: u8,
        /// The neighbour's address.
        to: Ipv4Addr,
        /// The datagram's payload.
        bytes: Vec<u8>,
    },
    /// Mark a neighbour up or down in the neighbour status table.
    SetNeighbour {
        /// The neighbour.
        nha: Nha,
        /// Its status.
        up: bool,
    },
    /// The path of flows to a server that have no path of their own.
    SetRoute {
        /// The server.
        destination: NodeId,
        /// The path.
        path: NumberedPath,
    },
    /// The path of packets to external networks that have no path of their own.
    SetGateway {
        /// The gateway at its end.
        gateway: NodeId,
        /// The path.
        path: NumberedPath,
    },
    /// The path of one flow from now on.
    SetFlow {
        /// The flow.
        flow: Flow,
        /// The server at the path's end.
        destination: NodeId,
        /// The path.
        path: NumberedPath,
    },
    /// Forget a flow's path.
    RemoveFlow {
        /// The flow.
        flow: Flow,
    },
    /// Something worth telling.
    Event(Event),
}

/// A source route and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumberedPath {
    /// The hops.
    pub route: SourceRoute,
    /// See [`path_id`].
    pub id: u32,
}

impl NumberedPath {
    /// The path from one server to another along `route`.
    pub fn new(source: NodeId, destination: NodeId, route: SourceRoute) -> NumberedPath {
        NumberedPath {
            route,
            id: path_id(source, destination, &route),
        }
    }
}

/// The number of a path: FNV-1a of its ends and its hops, so that everybody gives the same path the same number
/// without being told. Never 0, which stands for no path. `[ours]`
pub fn path_id(source: NodeId, destination: NodeId, route: &SourceRoute) -> u32 {
    let ends = [source, destination].into_iter().flat_map(u32::to_be_bytes);
    let hops = route.hops().iter().map(|hop| hop.0);
    let hash = ends.chain(hops).fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash.max(1)
}

/// Why a flow took another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchReason {
    /// The path in use failed.
    Failure,
    /// Another path had more bandwidth left.
    Adaptation,
}

/// Something worth telling: for the event log, never needed for forwarding.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A neighbour is not heard any more, or its port or ours lost its carrier.
    NeighbourDead {
        /// The neighbour.
        server: NodeId,
        /// Our port towards it.
        port: u8,
        /// How it was found out.
        cause: DeathCause,
    },
    /// A neighbour is heard again.
    NeighbourAlive {
        /// The neighbour.
        server: NodeId,
        /// Our port towards it.
        port: u8,
    },
    /// A flow has its first path from probing.
    PathSelected {
        /// The flow.
        flow: Flow,
        /// The path.
        path: PathSummary,
    },
    /// A flow took another path.
    PathSwitched {
        /// The flow.
        flow: Flow,
        /// Number of the path before; 0 for none.
        from_path_id: u32,
        /// The path now.
        path: PathSummary,
        /// Why.
        reason: SwitchReason,
    },
    /// A hop was reported as failed.
    PathFailed {
        /// The server that found it.
        reporter: NodeId,
        /// The neighbours that it does not reach.
        unreachable: Vec<NodeId>,
    },
    /// No path to a flow's destination is known.
    NoPath {
        /// The flow.
        flow: Flow,
    },
    /// A round of probing has ended.
    Probed {
        /// The flow.
        flow: Flow,
        /// Probes sent.
        probes: u32,
        /// Parallel paths found.
        paths: u32,
        /// From the first probe to the last answer.
        took: Duration,
    },
}

/// How a neighbour was found dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeathCause {
    /// Its hellos stopped, or it does not hear ours.
    Silence,
    /// Our port has no carrier.
    Carrier,
    /// It told us by another way that it does not reach us.
    Report,
}

/// A path as people see it.
#[derive(Clone, Debug, PartialEq)]
pub struct PathSummary {
    /// The path's number.
    pub id: u32,
    /// The servers on it, both ends included.
    pub servers: Vec<NodeId>,
    /// What it could carry besides, when it was last probed; `None` where it never was.
    pub available_bits_per_sec: Option<f64>,
}

/// What a protocol knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspection {
    /// The neighbour status table.
    pub neighbours: Vec<NeighbourStatus>,
    /// The flows and their path caches.
    pub flows: Vec<FlowStatus>,
    /// The failed-link database.
    pub failed_links: Vec<FailedLink>,
    /// Control messages not taken in, by reason.
    pub refused: Vec<(&'static str, u64)>,
}

/// A neighbour's entry.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourStatus {
    /// The neighbour.
    pub server: NodeId,
    /// Its key in the table.
    pub nha: Nha,
    /// Our port towards it.
    pub port: u8,
    /// Whether it is alive.
    pub up: bool,
    /// Time since it was last heard; `None` for never.
    pub silent_for: Option<Duration>,
}

/// A flow and its path cache.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowStatus {
    /// The flow.
    pub flow: Flow,
    /// Number of the path in use; 0 for none.
    pub path_id: u32,
    /// The good paths of the latest probing, the one in use among them.
    pub paths: Vec<PathSummary>,
    /// Rounds of probing so far.
    pub probings: u32,
    /// Path switches so far.
    pub switches: u32,
}

/// A hop between two servers that is known to have failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedLink {
    /// Its ends, the lower number first.
    pub servers: (NodeId, NodeId),
    /// Time until it is forgotten.
    pub expires_in: Duration,
}
