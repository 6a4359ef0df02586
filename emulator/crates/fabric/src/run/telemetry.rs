//! Counters of a run's network, read from the kernel ten times per second with a few calls per
//! server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use cubeyard_contract::tick::{Host, LinkColumns, ServerColumns};
use cubeyard_dataplane::drops::DropReason;

use super::forwarding::{Carried, DropsByName, Forwarding};
use super::nodes::Nodes;
use crate::error::Result;
use crate::host::namespace::NamespaceId;
use crate::host::processors::{OwnTime, Processors, TICKS_PER_SEC, Waits, backlog_drops, processor_ticks};
use crate::kernels::Kernels;
use crate::links::{self, Site};
use crate::names;
use crate::netlink::{Batch, queue_dump, read_queue_stats};
use crate::network::Network;
use crate::servers::ServerKernel;
use crate::switches::Room;

/// The drops and the processor time of a server or chip are read once in this many ticks: each
/// takes a call, and changes slowly.
const TICKS_PER_DROPS: u64 = 5;
const TICKS_PER_CPU: u64 = 10;

#[derive(Clone, Copy, Debug, Default)]
struct EndCounts {
    bytes: u64,
    packets: u64,
    drops: u64,
    queue_bytes: u64,
}

/// Drops by [`DropReason::index`].
type Drops = [u64; DropReason::COUNT];

#[derive(Debug, Default)]
struct ServerCounts {
    carried: Carried,
    drops: Drops,
    cpu_ticks: u64,
    cpu_at: Option<Instant>,
    cpu: f64,
}

/// The counters of one tick.
#[derive(Debug)]
pub struct Reading {
    /// Columns with a value per link.
    pub links: LinkColumns,
    /// Columns with a value per server.
    pub servers: ServerColumns,
    /// Packets dropped in forwarding, by reason.
    pub drops: DropsByName,
    /// Load of the host.
    pub host: Host,
}

/// Reads the counters and stores the last values.
#[derive(Debug)]
pub struct Telemetry {
    /// Counters of forwarding that nodes have reported.
    pub forwarding: Forwarding,
    request: Batch,
    /// The link and end of each interface, by namespace.
    ends_by_index: BTreeMap<Site, BTreeMap<u32, (usize, usize)>>,
    ends: Vec<[EndCounts; 2]>,
    servers: Vec<ServerCounts>,
    /// Drop counters of switches that are chips, by namespace, at the last reading.
    chips: Vec<Drops>,
    processors: Processors,
    own_time: OwnTime,
    own_cpu: f64,
    backlog_drops: u64,
}

impl Telemetry {
    /// Maps interfaces to ends of links.
    pub fn new(network: &Network) -> Telemetry {
        let servers = network.description.servers.len();
        let mut ends_by_index: BTreeMap<Site, BTreeMap<u32, (usize, usize)>> = BTreeMap::new();
        let here = (0..network.places.len()).filter(|link| network.division.has_link(*link));
        for (link, end) in here.flat_map(|link| [(link, 0), (link, 1)]) {
            let kind = links::kind(network, link);
            if kind.is_shaped(network, link, end) {
                let ends = ends_by_index.entry(kind.site(network, link, end)).or_default();
                ends.insert(links::interface(network, link, end), (link, end));
            }
        }
        Telemetry {
            forwarding: Forwarding::new(servers),
            request: queue_dump(),
            ends_by_index,
            ends: vec![[EndCounts::default(); 2]; network.places.len()],
            servers: (0..servers).map(|_| ServerCounts::default()).collect(),
            chips: vec![[0; DropReason::COUNT]; network.rooms.names.len()],
            processors: Processors::start(),
            own_time: OwnTime::default(),
            own_cpu: 0.0,
            backlog_drops: backlog_drops(),
        }
    }

    /// Reads all counters, as changes since the last call.
    pub fn read(&mut self, tick: u64, kernels: &mut Kernels, nodes: &Nodes) -> Result<Reading> {
        let links = self.read_links(kernels)?;
        let mut drops = DropsByName::new();
        let servers = self.read_servers(tick, &kernels.servers, nodes, &mut drops)?;
        self.read_chips(tick, &kernels.rooms, &mut drops)?;
        let cpu = round(self.processors.busy());
        let mut waits = Waits::default();
        if tick.is_multiple_of(TICKS_PER_CPU) {
            self.own_cpu = round(self.read_own_time(&kernels.servers));
            waits = self.own_time.waits;
        }
        let backlog_drops = backlog_drops();
        let lost = since(self.backlog_drops, backlog_drops);
        self.backlog_drops = backlog_drops;
        Ok(Reading {
            links,
            servers,
            drops,
            host: Host {
                cpu,
                own_cpu: self.own_cpu,
                wait_secs: waits.nanos as f64 / 1e9,
                waits: waits.count,
                backlog_drops: lost,
            },
        })
    }

    fn read_own_time(&mut self, servers: &[Option<ServerKernel>]) -> f64 {
        let ours = servers
            .iter()
            .flatten()
            .filter_map(|server| server.namespace.id().ok());
        let ours: BTreeSet<NamespaceId> = ours.collect();
        self.own_time
            .busy(self.processors.count(), |namespace| ours.contains(&namespace))
    }

    /// Columns of links since the last call. A missing server counts nothing.
    fn read_links(&mut self, kernels: &mut Kernels) -> Result<LinkColumns> {
        let mut now = vec![[None; 2]; self.ends.len()];
        for (site, socket) in kernels.sockets() {
            let Some(ends) = self.ends_by_index.get(&site) else {
                continue;
            };
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
        self.count_super_packets(&mut now, &kernels.servers)?;
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

    /// Replaces the queues' counts of packets by the programs' own: a super-packet that gets a
    /// header loses its number of segments, so the queue would not count them.
    fn count_super_packets(
        &self,
        now: &mut [[Option<EndCounts>; 2]],
        kernels: &[Option<ServerKernel>],
    ) -> Result<()> {
        for (server, kernel) in kernels.iter().enumerate() {
            let programs = kernel.as_ref().and_then(|kernel| kernel.programs.as_ref());
            let ends = self.ends_by_index.get(&Site::Server(server));
            let (Some(programs), Some(ends)) = (programs, ends) else {
                continue;
            };
            let sent_packets = programs.traffic()?.sent_packets;
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

    /// Columns of servers since the last call. Adds the servers' drops since the last reading.
    fn read_servers(
        &mut self,
        tick: u64,
        kernels: &[Option<ServerKernel>],
        nodes: &Nodes,
        drops: &mut DropsByName,
    ) -> Result<ServerColumns> {
        let mut columns = ServerColumns::default();
        for (at, (kernel, last)) in kernels.iter().zip(&mut self.servers).enumerate() {
            let forwarder = self.forwarding.of(at, kernel.as_ref());
            let carried = forwarder.carried()?;
            let relayed = since(last.carried.relayed_bytes, carried.relayed_bytes);
            columns.relayed.push(relayed);
            columns.own.push(since(last.carried.own_bytes, carried.own_bytes));
            last.carried = carried;
            if (tick + at as u64).is_multiple_of(TICKS_PER_DROPS) {
                add_drops(drops, &mut last.drops, forwarder.drops()?);
            }
            if (tick + at as u64).is_multiple_of(TICKS_PER_CPU) {
                last.measure_cpu(nodes.pid(at));
            }
            columns.cpu.push(last.cpu);
        }
        Ok(columns)
    }

    /// Adds the drops of switches that are chips since the last reading.
    fn read_chips(&mut self, tick: u64, rooms: &[Room], drops: &mut DropsByName) -> Result<()> {
        for (at, (room, last)) in rooms.iter().zip(&mut self.chips).enumerate() {
            if let Some(chip) = &room.chip
                && (tick + at as u64).is_multiple_of(TICKS_PER_DROPS)
            {
                add_drops(drops, last, chip.programs.drops()?);
            }
        }
        Ok(())
    }
}

/// Adds the drops since the last reading, and stores `now` as the last reading.
fn add_drops(drops: &mut DropsByName, last: &mut Drops, now: Drops) {
    for (reason, (now, last)) in DropReason::ALL.iter().zip(now.iter().zip(&*last)) {
        let count = since(*last, *now);
        if count > 0 {
            *drops.entry(reason.name()).or_default() += count;
        }
    }
    *last = now;
}

impl ServerCounts {
    fn measure_cpu(&mut self, pid: Option<u32>) {
        let ticks = pid.and_then(processor_ticks).unwrap_or(0);
        let now = Instant::now();
        let elapsed_secs = self.cpu_at.map(|at| (now - at).as_secs_f64());
        let used_secs = since(self.cpu_ticks, ticks) as f64 / TICKS_PER_SEC;
        self.cpu = elapsed_secs
            .filter(|elapsed| *elapsed > 0.0)
            .map_or(0.0, |elapsed| round(used_secs / elapsed));
        (self.cpu_ticks, self.cpu_at) = (ticks, Some(now));
    }
}

/// The increase of a counter. A counter that decreased was created again, and counts from zero.
fn since(last: u64, now: u64) -> u64 {
    if now >= last { now - last } else { now }
}

fn round(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}
