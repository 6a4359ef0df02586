//! Tests in a separate namespace which features this host supports. Gives a reason for each
//! unsupported one.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::sync::{Mutex, OnceLock, PoisonError};

use cubeyard_dataplane::address::{SEGMENT_PREFIX_BITS, exit_segment, segment};
use cubeyard_dataplane::catalog::{ForwardingKind, PROTOCOLS};
use cubeyard_dataplane::object::KernelObject;
use cubeyard_routing::hash::{self, FiveTuple};
use cubeyard_routing::tables::Hop;
use nix::sched::CloneFlags;
use serde::Serialize;

use crate::error::{During, FabricError, Result};
use crate::host::namespace::{self, Namespace};
use crate::links::Strangers;
use crate::netlink::{
    Batch, Bridge, End, GSO_MAX_BYTES, GroupMember, Netlink, PathManager, RT_TABLE_MAIN, RouteByHop,
    SegmentAction, Shape, Veth, Vxlan, add_address, add_bridge, add_group, add_next_hop,
    add_next_hop_by_segments, add_route_by_hop, add_segment_route, add_veth, add_vxlan, leaf_kind_probe,
    no_excuse, set_up, shape,
};
use crate::network::hosts::Hosts;
use crate::programs::{Programs, QueueReader};

/// Version and digest of the sources, as the binding's `engine_build`.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("CUBEYARD_SOURCES"));

const NEAR: u32 = 101;
const FAR: u32 = 102;
const BRIDGE: u32 = 103;
const TUNNEL: u32 = 104;

/// Features of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// Version of this program.
    pub version: &'static str,
    /// The kernel's release.
    pub kernel: String,
    /// Whether this process is root; without it, nothing works.
    pub root: bool,
    /// Network namespaces and links in them.
    pub namespaces: bool,
    /// Linux bridges, as switches.
    pub bridges: bool,
    /// The `htb` queueing discipline, which limits rates.
    pub htb: bool,
    /// The `netem` queueing discipline, which adds delay.
    pub netem: bool,
    /// Forwarding in the kernel.
    pub ebpf: bool,
    /// Tunnels to other hosts.
    pub vxlan: bool,
    /// Dropping packets of others that are sent to the tunnels.
    pub strangers: bool,
    /// Whether the kernel selects the next hop that we compute for a flow. Otherwise no paths are
    /// reported where switches are routers.
    pub path_hash: bool,
    /// Packets encapsulated with lists of relays, which detours need.
    pub detours: bool,
    /// Reading the queue length of a port when a packet leaves by it.
    pub queue_read: bool,
    /// Connections over several paths at once.
    pub mptcp: bool,
    /// Reasons for unsupported features.
    pub reasons: BTreeMap<&'static str, String>,
}

impl Probe {
    /// Whether a run with forwarding in the kernel can work here.
    pub fn can_emulate(&self) -> bool {
        self.root && self.namespaces && self.bridges && self.htb && self.ebpf
    }
}

/// Tests all features of this host.
pub fn probe() -> Probe {
    let mut reasons = BTreeMap::new();
    let mut note = |name: &'static str, result: Result<()>| match result {
        Ok(()) => true,
        Err(error) => {
            reasons.insert(name, error.message.clone());
            false
        }
    };
    let root = rustix::process::geteuid().is_root();
    Probe {
        version: BUILD,
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        root: note("root", if root { Ok(()) } else { Err(not_root()) }),
        namespaces: note("namespaces", in_scratch_namespace(|_| Ok(()))),
        bridges: note("bridges", in_scratch_namespace(try_bridge)),
        htb: note("htb", in_scratch_namespace(try_shaping)),
        netem: note("netem", in_scratch_namespace(|socket| try_queue(socket, "netem"))),
        ebpf: note("ebpf", try_programs(|_| true)),
        vxlan: note("vxlan", in_scratch_namespace(try_tunnel)),
        strangers: note("strangers", in_scratch_namespace(|_| try_rules())),
        path_hash: note("path_hash", in_scratch_namespace(try_hash)),
        detours: note("detours", in_scratch_namespace(try_detours)),
        queue_read: note("queue_read", QueueReader::load([]).map(drop)),
        mptcp: note("mptcp", in_scratch_namespace(|_| try_mptcp())),
        reasons,
    }
}

/// Tests the features that a run needs, except the programs of chips: the kernel takes seconds of a
/// processor to verify those, and every test of networks calls this first.
pub fn try_without_chips() -> Result<()> {
    in_scratch_namespace(try_bridge)?;
    in_scratch_namespace(try_shaping)?;
    try_programs(|object| object.own_tables.is_none())
}

/// Number of processors of this host.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// Memory that programs can still allocate; 0 if it cannot be read.
pub fn memory_free_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.map_or(0, |kibibytes| kibibytes * 1024)
}

/// Whether links can have this queueing discipline here; each is tried once.
pub fn has_queue(kind: &'static str) -> bool {
    static TRIED: Mutex<BTreeMap<&'static str, bool>> = Mutex::new(BTreeMap::new());
    let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
    *tried
        .entry(kind)
        .or_insert_with(|| in_scratch_namespace(|socket| try_queue(socket, kind)).is_ok())
}

/// Whether paths through routers can be computed here. The result is cached.
pub fn knows_hash() -> bool {
    static HASH: OnceLock<bool> = OnceLock::new();
    *HASH.get_or_init(|| in_scratch_namespace(try_hash).is_ok())
}

/// Checks that packets can take detours here. The result is cached.
///
/// # Errors
/// The operation that the kernel refuses.
pub fn check_detours() -> Result<()> {
    static DETOURS: OnceLock<Option<String>> = OnceLock::new();
    let refused = DETOURS.get_or_init(|| {
        let tried = in_scratch_namespace(try_detours);
        tried.err().map(|error| error.message.clone())
    });
    match refused {
        None => Ok(()),
        Some(message) => Err(FabricError::unsupported(
            format!("detours: {message}"),
            "take a kernel with IPv6 and CONFIG_IPV6_SEG6_LWTUNNEL, or the balance lb",
        )),
    }
}

/// Checks that flows can use MPTCP here. The result is cached.
///
/// # Errors
/// The operation that the kernel refuses.
pub fn check_mptcp() -> Result<()> {
    static MPTCP: OnceLock<Option<String>> = OnceLock::new();
    let refused = MPTCP.get_or_init(|| {
        let tried = in_scratch_namespace(|_| try_mptcp());
        tried.err().map(|error| error.message.clone())
    });
    match refused {
        None => Ok(()),
        Some(message) => Err(FabricError::unsupported(
            format!("MPTCP: {message}"),
            "take a kernel from 5.19 on with CONFIG_MPTCP, or the protocol tcp",
        )),
    }
}

fn not_root() -> FabricError {
    FabricError::denied("cubeyard-fabric needs root to make networks: start it with sudo")
}

/// Runs `attempt` in a new namespace with one veth pair; the namespace ends with the thread.
fn in_scratch_namespace(attempt: impl FnOnce(&mut Netlink) -> Result<()> + Send) -> Result<()> {
    let work = || -> Result<()> {
        nix::sched::unshare(CloneFlags::CLONE_NEWNET).during(|| "making a namespace".to_owned())?;
        let mut socket = Netlink::open()?;
        let mut batch = Batch::new();
        add_veth(
            &mut batch,
            &Veth {
                near: end("near", NEAR),
                far: end("far", FAR),
                mtu: 1500,
                super_packet_bytes: GSO_MAX_BYTES,
            },
        );
        socket.run(&mut batch, no_excuse)?;
        attempt(&mut socket)
    };
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn end(name: &str, index: u32) -> End<'static> {
    End {
        name: name.to_owned(),
        index,
        mac: [2, 0, 0, 0, 0, index as u8],
        arp: true,
        bridge: None,
        namespace: None,
    }
}

fn try_bridge(socket: &mut Netlink) -> Result<()> {
    let mut batch = Batch::new();
    let bridge = Bridge {
        name: "bridge".to_owned(),
        index: BRIDGE,
        mac: [2, 0, 0, 0, 0, 1],
        mtu: 1500,
    };
    add_bridge(&mut batch, &bridge);
    socket.run(&mut batch, no_excuse)
}

fn try_shaping(socket: &mut Netlink) -> Result<()> {
    let mut batch = Batch::new();
    shape(
        &mut batch,
        NEAR,
        &Shape {
            classes: None,
            rate_bits_per_sec: 1e8,
            mtu: 1500,
            queue_bytes: 65_536,
        },
    );
    socket.run(&mut batch, no_excuse)
}

fn try_queue(socket: &mut Netlink, kind: &str) -> Result<()> {
    let mut batch = Batch::new();
    leaf_kind_probe(&mut batch, NEAR, kind);
    socket.run(&mut batch, no_excuse)
}

/// Tests the packet filter's rules of a run on two hosts.
fn try_rules() -> Result<()> {
    let underlays = vec![Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    let hosts = Hosts {
        here: 0,
        underlays,
        first_vni: 1,
    };
    Strangers::keep_out("probe", &hosts, 1..2).map(drop)
}

fn try_tunnel(socket: &mut Netlink) -> Result<()> {
    let namespace = Namespace::current()?;
    let mut batch = Batch::new();
    add_vxlan(
        &mut batch,
        &Vxlan {
            name: "tunnel".to_owned(),
            index: TUNNEL,
            mac: [2, 0, 0, 0, 0, 1],
            mtu: 1500,
            vni: 1,
            local: Ipv4Addr::LOCALHOST,
            namespace: namespace.as_fd(),
        },
    );
    socket.run(&mut batch, no_excuse)
}

/// Tests one of each kind of next hop and route that detours need.
fn try_detours(socket: &mut Netlink) -> Result<()> {
    if !namespace::has_sysctl("ipv6/conf/all/forwarding") {
        return Err(FabricError::unsupported("this kernel has no IPv6", "load it"));
    }
    namespace::set_sysctl("ipv6/conf/all/disable_ipv6", "0")?;
    let mut batch = Batch::new();
    let segments = [segment(1, 2, 3), exit_segment(3)];
    set_up(&mut batch, NEAR, true);
    set_up(&mut batch, FAR, true);
    // Gateways are only valid in a namespace with an address.
    add_address(&mut batch, NEAR, Ipv4Addr::new(10, 0, 0, 1), 32);
    add_next_hop_by_segments(&mut batch, 1, NEAR, Ipv4Addr::new(192, 0, 2, 1), &segments);
    let [by_tor, _] = SEGMENT_PREFIX_BITS;
    let far_end = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    for (to, prefix_bits, action) in [
        (segment(3, 0, 0), by_tor, SegmentAction::Forward(far_end)),
        (segments[0], 128, SegmentAction::GoOn(segments[1])),
        (segments[1], 128, SegmentAction::Unwrap),
    ] {
        add_segment_route(&mut batch, to, prefix_bits, NEAR, action);
    }
    socket.run(&mut batch, no_excuse)
}

/// Tests that the kernel leaves subflows to us, and that its MPTCP answers.
fn try_mptcp() -> Result<()> {
    if !namespace::has_sysctl("mptcp/enabled") {
        let fix = "use one with CONFIG_MPTCP";
        return Err(FabricError::unsupported("this kernel has no MPTCP", fix));
    }
    namespace::set_sysctl("mptcp/enabled", "1")?;
    namespace::set_sysctl("mptcp/pm_type", "1")?;
    PathManager::open().map(drop)
}

/// Compares our hash with the kernel's choice of routes through a group of two next hops with
/// unequal weights.
fn try_hash(socket: &mut Netlink) -> Result<()> {
    const SEED: u32 = 0x5eed;
    const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const FAR_AWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 9, 9);
    let weights = [2, 5];
    let settings = [("policy", 3), ("fields", hash::FIELDS), ("seed", SEED)];
    for (name, value) in settings {
        let name = format!("ipv4/fib_multipath_hash_{name}");
        if !namespace::has_sysctl(&name) {
            return Err(FabricError::unsupported(
                format!("this kernel has no net/{name}"),
                "use Linux 6.11 or later",
            ));
        }
        namespace::set_sysctl(&name, &value.to_string())?;
    }
    let mut batch = Batch::new();
    let members = [(1, NEAR), (2, FAR)].map(|(id, index)| (id, index, Ipv4Addr::new(192, 0, 2, id as u8)));
    set_up(&mut batch, FAR, true);
    add_address(&mut batch, NEAR, OWN, 32);
    for (id, index, gateway) in members {
        add_next_hop(&mut batch, id, index, gateway);
    }
    let group = members
        .iter()
        .zip(weights)
        .map(|((id, ..), weight)| GroupMember { id: *id, weight });
    add_group(&mut batch, 3, &group.collect::<Vec<_>>());
    let route = RouteByHop {
        to: FAR_AWAY,
        prefix_bits: 32,
        hop: 3,
        source: OWN,
        table: RT_TABLE_MAIN.into(),
        mtu: None,
    };
    add_route_by_hop(&mut batch, &route);
    socket.run(&mut batch, no_excuse)?;
    let hops = weights.map(|weight| Hop::straight(weight, 0, weight));
    for port in 1000..1032_u16 {
        let flow = FiveTuple {
            addresses: [OWN.octets(), FAR_AWAY.octets()],
            protocol: 17,
            ports: [port, 5201],
        };
        let chosen = hash::member(&hops, hash::forwarded(SEED, &flow)).map(|hop| hop.weight);
        let expected = if chosen == Some(weights[0]) { NEAR } else { FAR };
        let found = socket.route_of(&flow)?;
        if found != Some(expected) {
            let message = format!(
                "this kernel sends a flow over interface {found:?}, not {expected}: it hashes otherwise"
            );
            return Err(FabricError::unsupported(
                message,
                "paths through routers are not told",
            ));
        }
    }
    Ok(())
}

/// Loads the objects of all protocols, each on separate interfaces, since a hook takes one program.
fn try_programs(is_tried: impl Fn(KernelObject) -> bool) -> Result<()> {
    let forwardings = PROTOCOLS.iter().flat_map(|entry| entry.forwardings);
    for forwarding in forwardings {
        if let ForwardingKind::Kernel(object) = forwarding.kind
            && is_tried(object)
        {
            in_scratch_namespace(|socket| try_object(socket, &Programs::load(object, forwarding.tables)?))?;
        }
    }
    Ok(())
}

fn try_object(socket: &mut Netlink, programs: &Programs) -> Result<()> {
    let mut batch = Batch::new();
    programs.attach_to_nic(&mut batch, NEAR)?;
    programs.attach_to_port(&mut batch, FAR)?;
    socket.run(&mut batch, no_excuse)
}
