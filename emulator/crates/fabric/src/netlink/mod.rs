//! A small netlink library for batches of requests: hundreds of links in one call take
//! milliseconds, a process for each takes seconds. `[ours, measured]`
//!
//! `message` has the encoding, `socket` sends and receives; each of the others has one kind of
//! request: `firewall`, `link` (with addresses and neighbours; `octets` finds some of its
//! counters), `mptcp`, `nexthop`, `queue` (with programs), `route`, `segment` and `vxlan`.
//!
//! Not here: which interfaces, addresses and queues a network needs (`links/`, `switches/`,
//! `servers/`).

mod firewall;
mod link;
mod message;
mod mptcp;
mod nexthop;
mod octets;
mod queue;
mod route;
mod segment;
mod socket;
mod vxlan;

pub use firewall::{Firewall, Match, Then, Way};
pub use link::{
    Bridge, End, GSO_MAX_BYTES, LinkState, Traffic, Veth, add_address, add_bridge, add_neighbour, add_veth,
    delete_link, delete_where, join_bridge, link_dump, read_link_state, received_packets, set_mtu, set_up,
    traffic,
};
pub use message::{Answer, Attributes, Batch};
pub use mptcp::{PathEvent, PathManager, SubflowRequest};
pub use nexthop::{GroupMember, add_group, add_next_hop, delete_next_hop};
pub use queue::{
    Classes, Hook, QueueStats, Shape, Sharers, add_program, attach_program, cut, delay, leaf_kind_probe,
    lose, queue_dump, read_queue_stats, restore, set_rate, shape, two_packets,
};
pub use route::{
    RT_TABLE_MAIN, Route, RouteByHop, add_entering_rule, add_route, add_route_by_hop, add_source_rule,
    delete_entering_rule, delete_route_by_hop,
};
pub use segment::{
    SegmentAction, add_address_v6, add_neighbour_v6, add_next_hop_by_segments, add_segment_route,
    delete_segment_route,
};
pub use socket::{Excuse, Netlink, gone_already, no_excuse};
pub use vxlan::{
    OUTER_HEADER_BYTES, PORT, Vxlan, add_far_address, add_far_end, add_vxlan, join_bridge_without_learning,
};
