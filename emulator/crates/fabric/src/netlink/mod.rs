//! Our own small netlink: batches of requests, because hundreds of links in one call take milliseconds and a
//! process for each takes seconds. `[ours, measured]`

mod link;
mod message;
mod queue;
mod route;
mod socket;
mod vxlan;

pub use link::{
    Bridge, End, LinkState, Veth, add_address, add_bridge, add_neighbour, add_veth, delete_link, join_bridge,
    link_dump, read_link_state, set_up,
};
pub use message::{Answer, Attributes, Batch};
pub use queue::{
    Hook, Impairment, QueueStats, Shape, attach_program, leaf_kind_probe, queue_dump, read_queue_stats,
    replace_leaf_with_fifo, replace_leaf_with_impairment, set_rate, shape,
};
pub use route::{Route, add_route};
pub use socket::{Excuse, Netlink, gone_already, no_excuse};
pub use vxlan::{OUTER_HEADER_BYTES, PORT, Vxlan, add_far_end, add_vxlan};
