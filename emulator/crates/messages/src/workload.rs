//! Flows of the workload: the orders to a node.

use std::net::Ipv4Addr;

use cubeyard_contract::tick::Role;
use serde::{Deserialize, Serialize};

use crate::exchange::Exchange;
use crate::limits::ORDER_BYTES;

/// Transport of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// As fast as the network takes it.
    Tcp,
    /// At the set rate, regardless of losses.
    Udp,
    /// As fast as the network takes it, over several paths at once.
    Mptcp,
}

/// One end of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowOrder {
    /// The flow's number in the run.
    pub id: u32,
    /// The end of the flow that this node is.
    pub role: Role,
    /// Address of this end where it is not the server's own: MPTCP's first subflow is from a
    /// port's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_ip: Option<Ipv4Addr>,
    /// Address of the other end's applications.
    pub peer_ip: Ipv4Addr,
    /// The port of the receiver.
    pub port: u16,
    /// Senders: the port to send from, if it is free; any if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_port: Option<u16>,
    /// TCP, UDP or MPTCP.
    pub transport: Transport,
    /// Bytes to carry; `None` for a flow that runs until it is stopped.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Rate to keep to; `None` for none with TCP, the link's with UDP.
    #[serde(default)]
    pub rate_bits_per_sec: Option<f64>,
    /// UDP: payload of each datagram; `None`: the largest that the network accepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagram_bytes: Option<u32>,
    /// From the start of the workload to the start of the flow.
    #[serde(default)]
    pub start_secs: f64,
    /// Send no more than the flow of this number has received here.
    #[serde(default)]
    pub pipeline: Option<u32>,
    /// Requests that the other end answers, instead of one stream of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

/// Flow orders in lists that each fit a datagram: at most [`ORDER_BYTES`] a list, unless one order
/// alone is longer.
pub fn split_orders(orders: &[FlowOrder]) -> Vec<Vec<FlowOrder>> {
    let mut lists: Vec<Vec<FlowOrder>> = Vec::new();
    let mut room = 0;
    for order in orders {
        let bytes = serde_json::to_vec(order).map_or(ORDER_BYTES, |json| json.len() + 1);
        match lists.last_mut() {
            Some(list) if bytes <= room => list.push(order.clone()),
            _ => {
                lists.push(vec![order.clone()]);
                room = ORDER_BYTES;
            }
        }
        room = room.saturating_sub(bytes);
    }
    lists
}
