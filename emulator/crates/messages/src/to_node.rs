//! Messages from the fabric to a node.

use std::net::Ipv4Addr;

use cubeyard_dataplane::configuration::Configuration;
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::tables::HexBytes;
use serde::{Deserialize, Serialize};

use crate::workload::FlowOrder;

/// A message to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ToNode {
    /// The identity of the server; any previous state is discarded.
    Configure(Box<Configure>),
    /// A record that the forwarding in the kernel wrote for the protocol.
    Notice {
        /// The bytes of the record.
        bytes: HexBytes,
    },
    /// The current rates of flows, as counted by the forwarding in the kernel.
    FlowRates {
        /// One row a flow.
        rows: Vec<FlowRate>,
    },
    /// A change of a port's carrier.
    Carrier {
        /// The port's number.
        port: u8,
        /// Whether it has one.
        up: bool,
    },
    /// The new capacity of a port's link.
    LinkRate {
        /// The port's number.
        port: u8,
        /// The rate in each direction.
        rate_bits_per_sec: f64,
    },
    /// More flows of the workload.
    Workload {
        /// The flows that start or end here.
        flows: Vec<FlowOrder>,
    },
    /// Start the flows that have not been started.
    Start,
    /// End and forget all flows.
    Stop,
    /// Send the protocol's state.
    Inspect,
    /// A part of a service that a user wrote, in order: the server hosts it once it has the last
    /// one.
    ServiceModule {
        /// The name of the service.
        service: String,
        /// Its number in packets.
        id: u16,
        /// Number of bytes of the module before this part; 0 starts the transfer again.
        offset: u32,
        /// The part, at most [`crate::limits::MODULE_PART_BYTES`].
        bytes: HexBytes,
        /// Whether it is the last one.
        last: bool,
    },
    /// Host a service whose instance is in a process, which connects to a socket. The socket's
    /// descriptor comes with the message.
    ServiceProcess {
        /// The name of the service.
        service: String,
        /// Its number in packets.
        id: u16,
    },
    /// A program that a user wrote for the server's chip, in place of the present one.
    Program {
        /// Its text, at most [`cubeyard_dataplane::catalog::MAX_PROGRAM_BYTES`].
        text: String,
    },
    /// A request to the server's chip, as programs on its socket make them (`cubeyard_chip::api`).
    Chip {
        /// Number of the request, which the answer has too.
        id: u64,
        /// The request without its length.
        request: HexBytes,
    },
    /// The CPU's side of the server's chip in the kernel, before the configuration: with the
    /// message come two descriptors, of the ring with packets for users' programs and of the socket
    /// by which those send.
    Cpu,
    /// Users' programs call the server's chip at a socket. Its descriptor comes with this message,
    /// before the configuration.
    ChipListener,
    /// The answer to a request of a user's program.
    Called {
        /// The program that sent the request.
        asker: u32,
        /// The cost of the request, in microseconds.
        cost_micros: u32,
        /// The answer with its length.
        answer: HexBytes,
    },
    /// A message to one of the server's services.
    Service {
        /// The name of the service.
        service: String,
        /// The bytes of the message.
        bytes: HexBytes,
    },
}

/// The configuration of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configure {
    /// The protocol's name in the catalogue.
    pub protocol: String,
    /// The forwarding's name there; `None` where servers forward nothing.
    pub forwarding: Option<String>,
    /// The address of the server's applications.
    pub address: Ipv4Addr,
    /// Its place in the network.
    pub configuration: Configuration,
}

/// The current rate of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowRate {
    /// The flow's ends and port.
    pub flow: Flow,
    /// The flow's rate.
    pub bits_per_sec: f64,
}
