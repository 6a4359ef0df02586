//! What a run's network carries, ten times a second, read from the kernel in a few calls a server.

use std::collections::BTreeMap;
use std::time::Instant;

use cubeyard_dataplane::drops::DropReason;
use serde::Serialize;
use serde_json::Value;

use super::actor::Node;
use super::forwarder::{Carried, Forwarder};
use super::workload::FlowColumns;
use crate::assembly::{ServerKernel, SwitchKernel};
use crate::error::Result;
use crate::names;
use crate::netlink::{Batch, queue_dump, read_queue_stats};
use crate::network::{Checked, Place};
use crate::processors::{Processors, TICKS_A_SEC};
use crate::wiring::end_index;

/// A server's drops are read at every so manieth tick, and its processor time too: a call each, and slow to change.
const DROPS_EVERY: u64 = 5;
const CPU_EVERY: u64 = 10;

/// One tick.
#[derive(Debug, Serialize)]
pub struct Frame {
    /// Its number, from 1.
    pub tick: u64,
    /// Seconds since the workload was started; 0 before.
    pub at_secs: f64,
    /// Columns over the links.
    pub links: LinkColumns,
    /// Columns over the servers.
    pub servers: ServerColumns,
    /// Columns over the workload's flows.
    pub flows: FlowColumns,
    /// Packets dropped by the fast path, by reason; reasons without drops are left out.
    pub drops: BTreeMap<&'static str, u64>,
    /// The host.
    pub host: Host,
    /// What happened.
    pub events: Vec<Value>,
}

/// What links did since the last tick.
#[derive(Debug, Default, Serialize)]
pub struct LinkColumns {
    /// Bytes from a to b, Ethernet headers included.
    pub tx: Vec<u64>,
    /// Bytes from b to a.
    pub rx: Vec<u64>,
    /// Packets sent, super-packets by what they hold: of every link from a to b, then of every link from b to a.
    pub packets: Vec<u64>,
    /// Packets dropped at full queues, in the same order.
    pub drops: Vec<u64>,
    /// Bytes waiting now, in the same order.
    pub queue: Vec<u64>,
}

/// What servers did since the last tick.
#[derive(Debug, Default, Serialize)]
pub struct ServerColumns {
    /// Bytes relayed for others.
    pub relayed: Vec<u64>,
    /// Bytes of their own applications.
    pub own: Vec<u64>,
    /// Share of one processor their node used, over the last second.
    pub cpu: Vec<f64>,
}

/// The host since the last tick.
#[derive(Debug, Default, Serialize)]
pub struct Host {
    /// Share of all processors in use.
    pub cpu: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct EndCounts {
    bytes: u64,
    packets: u64,
    drops: u64,
    queue_bytes: u64,
}

#[derive(Debug, Default)]
struct ServerCounts {
    carried: Carried,
    drops: [u64; DropReason::COUNT],
    cpu_ticks: u64,
    cpu_at: Option<Instant>,
    cpu: f64,
}

/// Reads counters and remembers the last ones.
#[derive(Debug)]
pub struct Telemetry {
    request: Batch,
    /// By server, and last the switches: link and end of an interface.
    ends_by_index: Vec<BTreeMap<u32, (usize, usize)>>,
    ends: Vec<[EndCounts; 2]>,
    servers: Vec<ServerCounts>,
    processors: Processors,
}

impl Telemetry {
    /// Knows which interface is which end of which link.
    pub fn new(network: &Checked) -> Telemetry {
        let servers = network.network.servers.len();
        let mut ends_by_index = vec![BTreeMap::new(); servers + 1];
        for (link, places) in network.places.iter().enumerate() {
            for (end, place) in places.iter().enumerate() {
                let namespace = match place {
                    Place::Server { server, .. } => *server,
                    Place::Switch { .. } => servers,
                };
                ends_by_index[namespace].insert(end_index(network, link, end), (link, end));
            }
        }
        Telemetry {
            request: queue_dump(),
            ends_by_index,
            ends: vec![[EndCounts::default(); 2]; network.network.links.len()],
            servers: (0..servers).map(|_| ServerCounts::default()).collect(),
            processors: Processors::start(),
        }
    }

    /// Columns over the links since the last call. A server that is not there counts nothing.
    pub fn links(
        &mut self,
        switches: Option<&mut SwitchKernel>,
        kernels: &mut [Option<ServerKernel>],
    ) -> Result<LinkColumns> {
        let mut now = vec![[None; 2]; self.ends.len()];
        let switch_socket = switches.map(|switches| &mut switches.netlink);
        let sockets = kernels
            .iter_mut()
            .map(|kernel| kernel.as_mut().map(|kernel| &mut kernel.netlink));
        for (namespace, socket) in sockets.chain([switch_socket]).enumerate() {
            let Some(socket) = socket else { continue };
            let ends = &self.ends_by_index[namespace];
            socket.dump(&mut self.request, |answer| {
                let Some(stats) = read_queue_stats(answer) else {
                    return;
                };
                if let Some(&(link, end)) = ends.get(&stats.index) {
                    now[link][end] = Some(EndCounts {
                        bytes: stats.bytes,
                        packets: stats.packets,
                        drops: stats.drops,
                        queue_bytes: stats.queue_bytes,
                    });
                }
            })?;
        }
        self.count_super_packets(&mut now, kernels)?;
        let mut columns = LinkColumns::default();
        let mut packets = [Vec::new(), Vec::new()];
        let mut drops = [Vec::new(), Vec::new()];
        let mut queues = [Vec::new(), Vec::new()];
        for (now, last) in now.iter().zip(&mut self.ends) {
            let mut bytes = [0; 2];
            for end in 0..2 {
                let counts = now[end].unwrap_or_default();
                bytes[end] = since(last[end].bytes, counts.bytes);
                packets[end].push(since(last[end].packets, counts.packets));
                drops[end].push(since(last[end].drops, counts.drops));
                queues[end].push(counts.queue_bytes);
                last[end] = counts;
            }
            columns.tx.push(bytes[0]);
            columns.rx.push(bytes[1]);
        }
        columns.packets = packets.concat();
        columns.drops = drops.concat();
        columns.queue = queues.concat();
        Ok(columns)
    }

    /// Puts the fast path's own count of packets in the place of the queues'. The kernel forgets how many packets a
    /// super-packet holds when it gets its header, so that its queue would count none.
    fn count_super_packets(
        &self,
        now: &mut [[Option<EndCounts>; 2]],
        kernels: &[Option<ServerKernel>],
    ) -> Result<()> {
        for (kernel, ends) in kernels.iter().zip(&self.ends_by_index) {
            let Some(fast_path) = kernel.as_ref().and_then(|kernel| kernel.fast_path.as_ref()) else {
                continue;
            };
            let sent_packets = fast_path.traffic()?.sent_packets;
            for (&index, &(link, end)) in ends {
                let packets =
                    names::port_of_index(index).and_then(|port| sent_packets.get(usize::from(port)));
                if let (Some(counts), Some(&packets)) = (&mut now[link][end], packets) {
                    counts.packets = packets;
                }
            }
        }
        Ok(())
    }

    /// Columns over the servers, and the drops by reason, since the last call.
    pub fn servers(
        &mut self,
        tick: u64,
        kernels: &[Option<ServerKernel>],
        nodes: &[Node],
    ) -> Result<(ServerColumns, BTreeMap<&'static str, u64>)> {
        let mut columns = ServerColumns::default();
        let mut drops = BTreeMap::new();
        for (at, (kernel, last)) in kernels.iter().zip(&mut self.servers).enumerate() {
            let forwarder = Forwarder::of(kernel.as_ref(), &nodes[at]);
            let carried = forwarder.carried()?;
            columns
                .relayed
                .push(since(last.carried.relayed_bytes, carried.relayed_bytes));
            columns.own.push(since(last.carried.own_bytes, carried.own_bytes));
            last.carried = carried;
            if (tick + at as u64).is_multiple_of(DROPS_EVERY) {
                let now = forwarder.drops()?;
                for (reason, (now, last)) in DropReason::ALL.iter().zip(now.iter().zip(&last.drops)) {
                    let count = since(*last, *now);
                    if count > 0 {
                        *drops.entry(reason.name()).or_default() += count;
                    }
                }
                last.drops = now;
            }
            if (tick + at as u64).is_multiple_of(CPU_EVERY) {
                last.measure_cpu(nodes[at].process.as_ref().map(|process| process.pid));
            }
            columns.cpu.push(last.cpu);
        }
        Ok((columns, drops))
    }

    /// Share of all processors in use since the last call.
    pub fn host(&mut self) -> Host {
        Host {
            cpu: round(self.processors.busy()),
        }
    }
}

impl ServerCounts {
    fn measure_cpu(&mut self, pid: Option<u32>) {
        let ticks = pid.and_then(processor_ticks).unwrap_or(0);
        let now = Instant::now();
        let elapsed_secs = self.cpu_at.map(|at| (now - at).as_secs_f64());
        let used_secs = since(self.cpu_ticks, ticks) as f64 / TICKS_A_SEC;
        self.cpu = elapsed_secs
            .filter(|elapsed| *elapsed > 0.0)
            .map_or(0.0, |elapsed| round(used_secs / elapsed));
        (self.cpu_ticks, self.cpu_at) = (ticks, Some(now));
    }
}

/// Processor time of a process and its threads, in hundredths of a second.
fn processor_ticks(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name, which may hold anything; the last parenthesis ends it.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// What a counter counted; one that went back was made anew.
fn since(last: u64, now: u64) -> u64 {
    if now >= last { now - last } else { now }
}

fn round(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}
