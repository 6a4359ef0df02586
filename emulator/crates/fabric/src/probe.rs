//! What this host can do, tried out in a namespace that nobody sees, each thing with the reason where it cannot.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::OnceLock;

use nix::sched::CloneFlags;
use serde::Serialize;

use crate::error::{During, Result};
use crate::fast_path::FastPath;
use crate::namespace::Namespace;
use crate::netlink::{
    Batch, Bridge, End, Netlink, Shape, Veth, Vxlan, add_bridge, add_veth, add_vxlan, leaf_kind_probe,
    no_excuse, shape,
};

const NEAR: u32 = 101;
const FAR: u32 = 102;
const BRIDGE: u32 = 103;
const TUNNEL: u32 = 104;

/// What a host can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// Version of this program.
    pub version: &'static str,
    /// The kernel's release.
    pub kernel: String,
    /// Whether we are root, without which nothing else is possible.
    pub root: bool,
    /// Network namespaces and links in them.
    pub namespaces: bool,
    /// Switches.
    pub bridges: bool,
    /// Shaping of rates.
    pub htb: bool,
    /// Loss and delay.
    pub netem: bool,
    /// Forwarding in the kernel.
    pub ebpf: bool,
    /// Tunnels to other hosts.
    pub vxlan: bool,
    /// Why something is not possible.
    pub reasons: BTreeMap<&'static str, String>,
}

impl Probe {
    /// Whether a run with forwarding in the kernel is possible.
    pub fn can_emulate(&self) -> bool {
        self.root && self.namespaces && self.bridges && self.htb && self.ebpf
    }
}

/// Tries everything out.
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
        version: env!("CARGO_PKG_VERSION"),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        root: note("root", if root { Ok(()) } else { Err(not_root()) }),
        namespaces: note("namespaces", in_scratch_namespace(|_| Ok(()))),
        bridges: note("bridges", in_scratch_namespace(try_bridge)),
        htb: note("htb", in_scratch_namespace(try_shaping)),
        netem: note("netem", in_scratch_namespace(|socket| try_queue(socket, "netem"))),
        ebpf: note("ebpf", in_scratch_namespace(try_fast_path)),
        vxlan: note("vxlan", in_scratch_namespace(try_tunnel)),
        reasons,
    }
}

/// How many processors there are.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// Memory that programs can still have; 0 where the kernel does not say.
pub fn memory_free_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.map_or(0, |kibibytes| kibibytes * 1024)
}

/// Whether links can lose and delay packets here; tried once.
pub fn has_netem() -> bool {
    static NETEM: OnceLock<bool> = OnceLock::new();
    *NETEM.get_or_init(|| in_scratch_namespace(|socket| try_queue(socket, "netem")).is_ok())
}

fn not_root() -> crate::error::FabricError {
    crate::error::FabricError::denied("cubeyard-fabric needs root to make networks: start it with sudo")
}

/// Runs `attempt` in a fresh namespace with one veth pair; the namespace goes with the thread.
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

fn try_fast_path(socket: &mut Netlink) -> Result<()> {
    let fast_path = FastPath::load()?;
    let mut batch = Batch::new();
    fast_path.attach(&mut batch, NEAR, &[FAR])?;
    socket.run(&mut batch, no_excuse)
}
