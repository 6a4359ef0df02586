//! The state of a run, in parts that do not share data. Only the run's thread uses it.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use super::Setup;
use super::active_faults::ActiveFaults;
use super::carriers::Carriers;
use super::chip_calls::ChipCalls;
use super::chip_requests::ChipRequests;
use super::chips::Chips;
use super::events::EventLog;
use super::flow_rates::FlowRates;
use super::frames::Subscribers;
use super::inspections::Inspections;
use super::latencies::LatencyCounts;
use super::nodes::Nodes;
use super::poller::Poller;
use super::router_carriers::RouterCarriers;
use super::subflows::Connections;
use super::telemetry::Telemetry;
use super::wiring::Wiring;
use super::workload::Workload;
use crate::balance::Balancing;
use crate::congestion::Congestion;
use crate::error::{During, Result};
use crate::hellos::Hellos;
use crate::host::clock::monotonic_nanos;
use crate::kernels::Kernels;
use crate::network::Network;
use crate::routes::Routes;

/// The parts of a run.
pub struct RunState {
    /// The emulated network.
    pub network: Arc<Network>,
    /// Program of nodes in servers without containers.
    pub node_program: PathBuf,
    /// Kernel objects of the network.
    pub kernels: Kernels,
    /// Sockets and processes of nodes.
    pub nodes: Nodes,
    /// Carriers of servers' ports.
    pub carriers: Carriers,
    /// The faults in effect.
    pub active_faults: ActiveFaults,
    /// Installed routes of routers and servers; empty unless switches are routers.
    pub routes: Routes,
    /// State of the CPUs of switches that are chips; `None` without such switches.
    pub chips: Option<Chips>,
    /// Hellos between neighbours; `None` where switches are bridges.
    pub hellos: Option<Hellos>,
    /// Load state of the nodes; `None` where flows are not spread by load.
    pub balancing: Option<Balancing>,
    /// Creation time of the run, on the monotonic clock.
    pub started_nanos: u64,
    /// Congestion notification; `None` where it is off.
    pub congestion: Option<Congestion>,
    /// The poller, for sources that are added later.
    pub poller: Arc<Poller>,
    /// Carriers of routers' ports.
    pub router_carriers: RouterCarriers,
    /// Flows of the run.
    pub workload: Workload,
    /// Latencies of clients' requests.
    pub latencies: LatencyCounts,
    /// Open MPTCP connections.
    pub connections: Connections,
    /// Sending rates of flows.
    pub flow_rates: FlowRates,
    /// Counters, read at each tick.
    pub telemetry: Telemetry,
    /// Events since the last frame.
    pub events: EventLog,
    /// Callers that receive frames.
    pub subscribers: Subscribers,
    /// Inspections that nodes have not answered yet.
    pub inspections: Inspections,
    /// Requests to chips that nodes have not answered yet.
    pub chip_requests: ChipRequests,
    /// Calls of users' programs on chips in the kernel.
    pub chip_calls: ChipCalls,
    /// Progress of wiring, and the run's entry in the journal.
    pub wiring: Wiring,
}

/// Draws a random, secret key.
fn own_key() -> Result<u64> {
    let mut bytes = [0; 8];
    let mut file = File::open("/dev/urandom").during(|| "drawing a key".to_owned())?;
    file.read_exact(&mut bytes)
        .during(|| "drawing a key".to_owned())?;
    Ok(u64::from_ne_bytes(bytes))
}

impl RunState {
    /// Writes the journal entry, then makes the sockets.
    pub fn new(setup: Setup, poller: &Arc<Poller>) -> Result<RunState> {
        let Setup {
            network,
            state,
            node_program,
            user: _,
        } = setup;
        let wiring = Wiring::new(&network, state.clone())?;
        let folder = state.make_run_folder(&network.description.run)?;
        let nodes = Nodes::listen(&network, folder, poller)?;
        let servers = network.description.servers.len();
        Ok(RunState {
            kernels: Kernels::new(&network),
            carriers: Carriers::new(&network, poller),
            active_faults: ActiveFaults::new(&network),
            routes: Routes::new(&network),
            chips: Chips::of(&network)?,
            hellos: Hellos::of(&network)?,
            balancing: Balancing::of(&network)?,
            congestion: Congestion::of(&network, own_key()?),
            poller: poller.clone(),
            started_nanos: monotonic_nanos(),
            router_carriers: RouterCarriers::new(&network, poller),
            workload: Workload::default(),
            latencies: LatencyCounts::default(),
            connections: Connections::default(),
            flow_rates: FlowRates::new(servers),
            telemetry: Telemetry::new(&network),
            events: EventLog::default(),
            subscribers: Subscribers::default(),
            inspections: Inspections::new(servers),
            chip_requests: ChipRequests::default(),
            chip_calls: ChipCalls::default(),
            network,
            node_program,
            nodes,
            wiring,
        })
    }

    /// The id of a server, by its index.
    pub fn id(&self, server: usize) -> u32 {
        self.network.description.servers[server].id
    }
}
