//! The eBPF programs and maps of one server.

use std::array;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{LazyLock, Mutex, PoisonError};

use aya::maps::{Array, HashMap, MapData, PerCpuArray, RingBuf};
use aya::programs::{Program, SchedClassifier};
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use cubeyard_dataplane::address::Nha;
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::maps::{Config, Event, Flow, FlowCount, NextHop, Path, Traffic};
use zerocopy::FromBytes;

use crate::error::{During, FabricError, Result};
use crate::netlink::{Batch, Hook, attach_program};

/// The compiled programs; they travel inside this binary.
static OBJECT: &[u8] = include_bytes_aligned!("../../../bpf/cubeyard.bpf.o");

/// Bytes of a map's value or key.
macro_rules! bytes {
    ($type:ty) => {
        [u8; size_of::<$type>()]
    };
}

/// One server's forwarding in the kernel.
pub struct FastPath {
    programs: Ebpf,
    config: Array<MapData, bytes!(Config)>,
    nst: Array<MapData, bytes!(NextHop)>,
    flows: HashMap<MapData, bytes!(Flow), bytes!(Path)>,
    flow_counts: HashMap<MapData, bytes!(Flow), bytes!(FlowCount)>,
    routes: HashMap<MapData, [u8; 4], bytes!(Path)>,
    drops: PerCpuArray<MapData, u64>,
    traffic: PerCpuArray<MapData, bytes!(Traffic)>,
    /// What the programs tell; wait on it with epoll.
    pub events: RingBuf<MapData>,
}

fn failed(what: &str) -> impl FnOnce() -> String {
    let what = what.to_owned();
    move || what
}

macro_rules! take {
    ($programs:ident, $name:literal) => {
        $programs
            .take_map($name)
            .ok_or_else(|| FabricError::system("loading the fast path", concat!("it has no map ", $name)))?
            .try_into()
            .during(failed(concat!("opening the map ", $name)))?
    };
}

impl FastPath {
    /// Makes the maps and has the kernel check the programs. Nothing is attached yet.
    pub fn load() -> Result<FastPath> {
        let mut programs = open_object()?;
        for name in ["cubeyard_vnic", "cubeyard_port"] {
            program(&mut programs, name)?
                .load()
                .during(failed("checking the fast path"))?;
        }
        Ok(FastPath {
            config: take!(programs, "config"),
            nst: take!(programs, "nst"),
            flows: take!(programs, "flows"),
            flow_counts: take!(programs, "flow_counts"),
            routes: take!(programs, "routes"),
            drops: take!(programs, "drops"),
            traffic: take!(programs, "traffic"),
            events: take!(programs, "events"),
            programs,
        })
    }

    /// Puts the programs on a server's interfaces, by their numbers. They stay there while the interfaces do, whoever
    /// lets go of them.
    pub fn attach(&self, batch: &mut Batch, virtual_nic: u32, ports: &[u32]) -> Result<()> {
        attach_program(
            batch,
            virtual_nic,
            descriptor(&self.programs, "cubeyard_vnic")?,
            Hook::Egress,
        );
        for &port in ports {
            attach_program(
                batch,
                port,
                descriptor(&self.programs, "cubeyard_port")?,
                Hook::Ingress,
            );
        }
        Ok(())
    }

    /// Says who the server is.
    pub fn configure(&mut self, config: Config) -> Result<()> {
        let value: bytes!(Config) = zerocopy::transmute!(config);
        self.config
            .set(0, value, 0)
            .during(failed("writing the map config"))
    }

    /// Writes an entry of the neighbour status table.
    pub fn set_next_hop(&mut self, nha: Nha, hop: NextHop) -> Result<()> {
        let value: bytes!(NextHop) = zerocopy::transmute!(hop);
        self.nst
            .set(u32::from(nha.0), value, 0)
            .during(failed("writing the map nst"))
    }

    /// Sets the path of a destination's flows that have none of their own.
    pub fn set_route(&mut self, destination: Ipv4Addr, path: Path) -> Result<()> {
        let value: bytes!(Path) = zerocopy::transmute!(path);
        self.routes
            .insert(destination.octets(), value, 0)
            .during(failed("writing the map routes"))
    }

    /// Sets a flow's own path.
    pub fn set_flow(&mut self, flow: Flow, path: Path) -> Result<()> {
        let (key, value): (bytes!(Flow), bytes!(Path)) =
            (zerocopy::transmute!(flow), zerocopy::transmute!(path));
        self.flows
            .insert(key, value, 0)
            .during(failed("writing the map flows"))
    }

    /// Forgets a flow: its next packet is a new flow's.
    pub fn remove_flow(&mut self, flow: Flow) {
        let key: bytes!(Flow) = zerocopy::transmute!(flow);
        // The kernel forgets flows by itself too; one that is gone already is as wanted.
        let _ = self.flows.remove(&key);
        let _ = self.flow_counts.remove(&key);
    }

    /// Forgets every flow and every count of flows.
    pub fn forget_flows(&mut self) {
        let known: Vec<bytes!(Flow)> = self
            .flows
            .keys()
            .chain(self.flow_counts.keys())
            .filter_map(|key| key.ok())
            .collect();
        for key in known {
            let _ = self.flows.remove(&key);
            let _ = self.flow_counts.remove(&key);
        }
    }

    /// What each flow has sent since it was first seen.
    pub fn flow_counts(&self) -> Vec<(Flow, FlowCount)> {
        let entries = self.flow_counts.iter().filter_map(|entry| entry.ok());
        entries
            .filter_map(|(flow, count)| {
                Some((
                    Flow::read_from_bytes(&flow).ok()?,
                    FlowCount::read_from_bytes(&count).ok()?,
                ))
            })
            .collect()
    }

    /// What the server has carried, all CPUs together.
    pub fn traffic(&self) -> Result<Traffic> {
        let values = self
            .traffic
            .get(&0, 0)
            .during(failed("reading the map traffic"))?;
        let parts = values
            .iter()
            .filter_map(|bytes| Traffic::read_from_bytes(bytes).ok());
        Ok(parts.fold(Traffic::default(), |sum, part| Traffic {
            own_packets: sum.own_packets + part.own_packets,
            own_bytes: sum.own_bytes + part.own_bytes,
            relayed_packets: sum.relayed_packets + part.relayed_packets,
            relayed_bytes: sum.relayed_bytes + part.relayed_bytes,
            delivered_packets: sum.delivered_packets + part.delivered_packets,
            delivered_bytes: sum.delivered_bytes + part.delivered_bytes,
            events_suppressed: sum.events_suppressed + part.events_suppressed,
            sent_packets: array::from_fn(|port| sum.sent_packets[port] + part.sent_packets[port]),
        }))
    }

    /// Packets dropped, by [`DropReason::index`], all CPUs together.
    pub fn drops(&self) -> Result<[u64; DropReason::COUNT]> {
        let mut drops = [0; DropReason::COUNT];
        for (reason, count) in drops.iter_mut().enumerate() {
            let values = self
                .drops
                .get(&(reason as u32), 0)
                .during(failed("reading the map drops"))?;
            *count = values.iter().sum();
        }
        Ok(drops)
    }

    /// The next thing the programs told, if there is one.
    pub fn next_event(&mut self) -> Option<Event> {
        let item = self.events.next()?;
        Event::read_from_bytes(&item).ok()
    }
}

/// What keeps the kernel's stack out of the packets that a node forwards itself.
#[derive(Debug)]
pub struct Guard {
    programs: Ebpf,
}

impl Guard {
    /// Has the kernel check the program. Nothing is attached yet.
    pub fn load() -> Result<Guard> {
        let mut programs = open_object()?;
        program(&mut programs, "cubeyard_guard")?
            .load()
            .during(failed("checking the guard"))?;
        Ok(Guard { programs })
    }

    /// Puts the program on interfaces, by their numbers.
    pub fn attach(&self, batch: &mut Batch, interfaces: &[u32]) -> Result<()> {
        for &interface in interfaces {
            attach_program(
                batch,
                interface,
                descriptor(&self.programs, "cubeyard_guard")?,
                Hook::Ingress,
            );
        }
        Ok(())
    }
}

/// Makes a new set of the object's maps and programs.
fn open_object() -> Result<Ebpf> {
    // Making a loader reads all types of the kernel, 20 ms, although our programs need none of them.
    static LOADER: LazyLock<Mutex<EbpfLoader<'static>>> = LazyLock::new(|| {
        let mut loader = EbpfLoader::new();
        loader.btf(None);
        Mutex::new(loader)
    });
    let mut loader = LOADER.lock().unwrap_or_else(PoisonError::into_inner);
    loader.load(OBJECT).during(failed("loading the fast path"))
}

fn program<'a>(programs: &'a mut Ebpf, name: &str) -> Result<&'a mut SchedClassifier> {
    programs
        .program_mut(name)
        .ok_or_else(|| FabricError::system("loading the fast path", format!("it has no program {name}")))?
        .try_into()
        .during(failed("loading the fast path"))
}

fn descriptor<'a>(programs: &'a Ebpf, name: &str) -> Result<BorrowedFd<'a>> {
    let unloaded = || FabricError::system("attaching the fast path", format!("{name} is not loaded"));
    match programs.program(name) {
        Some(Program::SchedClassifier(program)) => program.fd().map(AsFd::as_fd).map_err(|_| unloaded()),
        _ => Err(unloaded()),
    }
}
