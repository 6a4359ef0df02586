//! A chain of servers in separate network namespaces, each joined to the next by a virtual cable,
//! with a protocol's fast path or, for comparison, the kernel's IPv4 forwarding. The namespaces
//! belong to threads and vanish with them.

#![allow(clippy::unwrap_used, dead_code)] // tests and benchmark each use a part of it

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

mod entries;

use crate::kernel_tables::Tables;
use aya::Ebpf;
use aya::maps::{Map, MapError, PerCpuArray, RingBuf};
use aya::programs::{SchedClassifier, TcAttachType, tc};
use cubeyard_dataplane::address::{port_mac, virtual_ip, vnic_mac};
use cubeyard_dataplane::bcube::tables::{NextHop, Notice};
use cubeyard_dataplane::catalog::{CHIP, KERNEL, ProtocolEntry};
use cubeyard_dataplane::counts::Traffic;
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::tables::TableUpdate;
use cubeyard_dataplane::{bcube, camcube, dcell};
use entries::Place;
pub use entries::nha_on;
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, unshare};
use nix::unistd::{Pid, gettid};
use zerocopy::{FromBytes, IntoBytes};

/// Levels of a server's two cables: to the previous server, and to the next one.
const BACK: u8 = 0;
const ON: u8 = 1;
const PORT: u16 = 5201;
const BLOCK_BYTES: usize = 256 * 1024;

type Work = Box<dyn FnOnce() + Send>;

/// A network namespace, with the thread that lives in it.
pub struct Namespace {
    thread: Pid,
    work: mpsc::Sender<Work>,
}

impl Namespace {
    /// A namespace with only its loopback interface. Prints a message and returns `None` without
    /// the privilege to create one; panics in CI, where it is required.
    pub fn new() -> Option<Namespace> {
        let (work, waiting) = mpsc::channel::<Work>();
        let (ready, made) = mpsc::channel();
        thread::spawn(move || {
            let unshared = unshare(CloneFlags::CLONE_NEWNET);
            ready.send(unshared.map(|()| gettid())).unwrap();
            waiting.into_iter().for_each(|work| work());
        });
        match made.recv().unwrap() {
            Ok(thread) => {
                let namespace = Namespace { thread, work };
                namespace.ip("link set lo up");
                Some(namespace)
            }
            Err(refused) => {
                assert!(
                    std::env::var_os("CI").is_none(),
                    "CI must allow network namespaces: {refused}"
                );
                eprintln!("skipped: network namespaces need root here: {refused}");
                None
            }
        }
    }

    /// Starts work inside the namespace; its result arrives through the channel.
    pub fn start<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> mpsc::Receiver<T> {
        let (done, result) = mpsc::channel();
        // The receiver may have been dropped; then the result is not needed.
        let work: Work = Box::new(move || drop(done.send(work())));
        self.work.send(work).expect("the namespace's thread lives");
        result
    }

    /// Does work inside the namespace, and waits for it.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        self.start(work).recv().expect("work in the namespace ends well")
    }

    /// Runs `ip` with these words inside the namespace.
    pub fn ip(&self, words: &str) -> String {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        self.run(move || {
            let output = Command::new("ip").args(&words).output().expect("ip runs");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "ip {}: {errors}", words.join(" "));
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    }

    fn set(&self, setting: &'static str, value: &'static str) {
        self.run(move || std::fs::write(format!("/proc/sys/net/{setting}"), value).expect(setting));
    }

    /// Pins the namespace's thread to one CPU.
    pub fn pin(&self, cpu: usize) {
        self.run(move || {
            let mut only = CpuSet::new();
            only.set(cpu).unwrap();
            sched_setaffinity(Pid::from_raw(0), &only).unwrap();
        });
    }
}

/// The forwarding of a chain's servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dataplane {
    /// The programs of BCube.
    FastPath,
    /// The chip of ServerSwitch.
    Chip,
    Dcell,
    Camcube,
    KernelIpv4,
}

impl Dataplane {
    /// The protocol and its forwarding; `None` without one.
    fn forwarding(self) -> Option<(&'static ProtocolEntry, &'static str)> {
        match self {
            Dataplane::FastPath => Some((&bcube::ENTRY, KERNEL)),
            Dataplane::Chip => Some((&bcube::ENTRY, CHIP)),
            Dataplane::Dcell => Some((&dcell::ENTRY, KERNEL)),
            Dataplane::Camcube => Some((&camcube::ENTRY, KERNEL)),
            Dataplane::KernelIpv4 => None,
        }
    }
}

/// A `Traffic` as an array of numbers.
type TrafficWords = [u64; size_of::<Traffic>() / size_of::<u64>()];

/// One server of a chain.
pub struct Server {
    pub namespace: Namespace,
    ebpf: Option<(Ebpf, Tables)>,
    /// BCube's entry for the next server.
    next: NextHop,
}

impl Server {
    fn map<'a, M: TryFrom<&'a mut Map, Error = MapError>>(&'a mut self, name: &str) -> M {
        let (ebpf, _) = self.ebpf.as_mut().expect("a server with the fast path");
        ebpf.map_mut(name).unwrap().try_into().unwrap()
    }

    /// The traffic of the fast path, summed over CPUs.
    pub fn traffic(&mut self) -> Traffic {
        let traffic: PerCpuArray<_, TrafficWords> = self.map("traffic");
        let mut sum: TrafficWords = TrafficWords::default();
        for here in traffic.get(&0, 0).unwrap().iter() {
            sum.iter_mut().zip(here).for_each(|(sum, here)| *sum += here);
        }
        Traffic::read_from_bytes(sum.as_bytes()).unwrap()
    }

    /// Number of packets that the fast path has dropped, by reason.
    pub fn drops(&mut self) -> Vec<(DropReason, u64)> {
        let drops: PerCpuArray<_, u64> = self.map("drops");
        let count = |reason: &DropReason| drops.get(&(reason.index() as u32), 0).unwrap().iter().sum();
        let counts = DropReason::ALL.iter().map(|reason| (*reason, count(reason)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    pub fn notices(&mut self) -> Vec<Notice> {
        let mut ring: RingBuf<_> = self.map("events");
        std::iter::from_fn(|| Some(Notice::read_from_bytes(&ring.next()?).unwrap())).collect()
    }

    /// Marks the next server as alive or dead in BCube's table.
    pub fn set_next_up(&mut self, up: bool) {
        self.next.up = up.into();
        let update = self.next.update(nha_on());
        self.apply(&update);
    }

    /// Commits a program to the server's chip, while packets use the previous one.
    pub fn set_program(&mut self, text: &str) {
        let (ebpf, tables) = self.ebpf.as_mut().expect("a server with a chip");
        tables.set_program(ebpf, text);
    }

    /// Writes an entry of the protocol's tables.
    fn apply(&mut self, update: &TableUpdate) {
        let (ebpf, tables) = self.ebpf.as_mut().expect("a server with the fast path");
        tables.apply(ebpf, update);
    }
}

/// A chain of servers `0..n`.
pub struct Chain {
    pub servers: Vec<Server>,
    dataplane: Dataplane,
}

impl Chain {
    /// Makes a chain of `servers` whose cables have this MTU. `None` without the privilege to
    /// create namespaces.
    pub fn new(servers: u32, dataplane: Dataplane, mtu: u32) -> Option<Chain> {
        let servers = (0..servers).map(|_| {
            let namespace = Namespace::new()?;
            for setting in ["ipv4/conf/all/rp_filter", "ipv4/conf/default/rp_filter"] {
                namespace.set(setting, "0");
            }
            namespace.set("ipv6/conf/default/disable_ipv6", "1");
            Some(Server {
                namespace,
                ebpf: None,
                next: NextHop::default(),
            })
        });
        let mut chain = Chain {
            servers: servers.collect::<Option<_>>()?,
            dataplane,
        };
        chain.join(mtu);
        match dataplane.forwarding() {
            Some((entry, name)) => {
                (0..chain.servers.len()).for_each(|server| chain.load(server, entry, name, mtu));
            }
            None => chain.route(),
        }
        Some(chain)
    }

    /// The address of a server that applications use.
    pub fn ip(&self, server: usize) -> Ipv4Addr {
        match self.dataplane {
            Dataplane::KernelIpv4 if server == 0 => Ipv4Addr::new(10, 1, 0, 1),
            Dataplane::KernelIpv4 => Ipv4Addr::new(10, 1, server as u8 - 1, 2),
            _ => virtual_ip(server as u32).unwrap(),
        }
    }

    /// The interfaces of a server's cables.
    pub fn ports(&self, server: usize) -> Vec<String> {
        let ports = [(BACK, server > 0), (ON, server + 1 < self.servers.len())];
        let joined = ports.into_iter().filter(|(_, joined)| *joined);
        joined.map(|(port, _)| format!("p{port}")).collect()
    }

    fn join(&self, mtu: u32) {
        for (number, pair) in self.servers.windows(2).enumerate() {
            let (near, far) = (number as u32, number as u32 + 1);
            let end = |server, port| {
                format!(
                    "mtu {mtu} numtxqueues 1 numrxqueues 1 address {}",
                    mac(server, port)
                )
            };
            let peer = pair[1].namespace.thread;
            pair[0].namespace.ip(&format!(
                "link add p{ON} {} type veth peer name p{BACK} {} netns {peer}",
                end(near, ON),
                end(far, BACK)
            ));
            pair[0].namespace.ip(&format!("link set p{ON} up"));
            pair[1].namespace.ip(&format!("link set p{BACK} up"));
        }
    }

    /// Sets up the kernel's IPv4 forwarding: a network per cable, and routes to all others.
    fn route(&self) {
        let last = self.servers.len() - 1;
        for (number, Server { namespace, .. }) in self.servers.iter().enumerate() {
            namespace.set("ipv4/ip_forward", "1");
            if number < last {
                namespace.ip(&format!("addr add 10.1.{number}.1/24 dev p{ON}"));
            }
            if number > 0 {
                namespace.ip(&format!("addr add 10.1.{}.2/24 dev p{BACK}", number - 1));
            }
        }
        for (number, Server { namespace, .. }) in self.servers.iter().enumerate() {
            for cable in number + 1..last {
                namespace.ip(&format!("route add 10.1.{cable}.0/24 via 10.1.{number}.2"));
            }
            for cable in 0..number.saturating_sub(1) {
                namespace.ip(&format!("route add 10.1.{cable}.0/24 via 10.1.{}.1", number - 1));
            }
        }
    }

    /// Sets up the fast path: a virtual NIC, the programs, and paths to all other servers.
    fn load(&mut self, server: usize, entry: &ProtocolEntry, forwarding: &str, mtu: u32) {
        let (own, all) = (server as u32, self.servers.len() as u32);
        let ports = self.ports(server);
        let Server { namespace, ebpf, .. } = &mut self.servers[server];
        let vnic_mtu = mtu - entry.header_bytes;
        let colons = |mac: [u8; 6]| mac.map(|byte| format!("{byte:02x}")).join(":");
        let address = colons(vnic_mac(own));
        namespace.ip(&format!(
            "link add cy0 mtu {vnic_mtu} address {address} type veth peer name cy0x mtu {vnic_mtu}"
        ));
        namespace.ip("link set cy0 gso_max_size 65000 arp off up");
        namespace.ip("link set cy0x arp off up");
        namespace.ip(&format!("addr add {}/8 dev cy0", virtual_ip(own).unwrap()));

        let names = ports.clone();
        let tables = Tables::of(entry, forwarding);
        let object = tables.object;
        let (loaded, vnic_ifindex, ifindices) = namespace.run(move || {
            let mut ebpf = Ebpf::load(object.bytes).unwrap();
            attach(
                &mut ebpf,
                object.virtual_nic.unwrap(),
                "cy0",
                TcAttachType::Egress,
            );
            let program: &mut SchedClassifier = ebpf.program_mut(object.port).unwrap().try_into().unwrap();
            program.load().unwrap();
            for name in &names {
                drop(tc::qdisc_add_clsact(name));
                program.attach(name, TcAttachType::Ingress).unwrap();
            }
            let ifindex = |name: &str| nix::net::if_::if_nametoindex(name).unwrap();
            let ifindices: Vec<u32> = names.iter().map(|name| ifindex(name)).collect();
            (ebpf, ifindex("cy0"), ifindices)
        });
        *ebpf = Some((loaded, tables));

        let mut place = Place {
            own,
            servers: all,
            mtu,
            vnic_ifindex,
            ifindices: [None; 2],
        };
        for (name, ifindex) in ports.iter().zip(ifindices) {
            place.ifindices[usize::from(*name != format!("p{BACK}"))] = Some(ifindex);
        }
        let entries = match self.dataplane {
            Dataplane::Dcell => place.dcell(),
            Dataplane::Camcube => place.camcube(),
            _ => place.bcube(),
        };
        let this = &mut self.servers[server];
        entries.iter().for_each(|update| this.apply(update));
        if let Some((_, hop)) = place.bcube_hops().find(|(_, hop)| hop.port == ON) {
            this.next = hop;
        }
    }
}

fn attach(ebpf: &mut Ebpf, program: &str, interface: &str, place: TcAttachType) {
    // Kernels before 6.6 need this qdisc. It may exist already, which is no error.
    drop(tc::qdisc_add_clsact(interface));
    let program: &mut SchedClassifier = ebpf.program_mut(program).unwrap().try_into().unwrap();
    program.load().unwrap();
    program.attach(interface, place).unwrap();
}

/// CPU time of the thread at each end for a TCP transfer, in nanoseconds. In most kernels, which
/// have no interrupt accounting, it includes the cost of their packets on the way.
pub struct Transfer {
    pub received: Vec<u8>,
    pub cpu_nanos: u64,
}

/// Sends `blocks` blocks over TCP from the first server to the last; stores the received data if
/// `keep` is set.
pub fn send_over_tcp(chain: &Chain, blocks: usize, keep: bool) -> Transfer {
    let to = SocketAddr::new(chain.ip(chain.servers.len() - 1).into(), PORT);
    let (listening, ready) = mpsc::channel();
    let receiver = chain.servers.last().unwrap().namespace.start(move || {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).unwrap();
        listening.send(()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let before = cpu_nanos();
        let (mut block, mut received) = (vec![0; BLOCK_BYTES], Vec::new());
        loop {
            match stream.read(&mut block).unwrap() {
                0 => break,
                _ if !keep => {}
                count => received.extend_from_slice(&block[..count]),
            }
        }
        Transfer {
            received,
            cpu_nanos: cpu_nanos() - before,
        }
    });
    ready.recv().unwrap();
    let sent = chain.servers[0].namespace.run(move || {
        let mut stream = TcpStream::connect_timeout(&to, Duration::from_secs(5)).unwrap();
        let before = cpu_nanos();
        (0..blocks).for_each(|number| stream.write_all(&block(number)).unwrap());
        cpu_nanos() - before
    });
    let transfer = receiver.recv().unwrap();
    Transfer {
        cpu_nanos: transfer.cpu_nanos + sent,
        ..transfer
    }
}

/// CPU time per byte in nanoseconds, including that of the kernel's packet thread on that CPU.
pub fn nanos_per_byte(chain: &Chain, blocks: usize) -> f64 {
    let before = kernel_thread_nanos();
    let transfer = send_over_tcp(chain, blocks, false);
    let nanos = transfer.cpu_nanos + kernel_thread_nanos() - before;
    nanos as f64 / (blocks * block(0).len()) as f64
}

/// CPU time of the kernel's packet thread on CPU 0 so far.
fn kernel_thread_nanos() -> u64 {
    let processes = std::fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let thread = processes
        .map(|entry| entry.path())
        .find(|path| std::fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm == "ksoftirqd/0\n"));
    let stat = thread.and_then(|path| std::fs::read_to_string(path.join("schedstat")).ok());
    stat.map_or(0, |stat| stat.split_whitespace().next().unwrap().parse().unwrap())
}

/// The block of test data with this number.
pub fn block(number: usize) -> Vec<u8> {
    vec![number as u8; BLOCK_BYTES]
}

/// CPU time of the current thread so far.
pub fn cpu_nanos() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel reports run times");
    stat.split_whitespace()
        .next()
        .and_then(|nanos| nanos.parse().ok())
        .expect("a number")
}

fn mac(server: u32, port: u8) -> String {
    port_mac(server, port).map(|byte| format!("{byte:02x}")).join(":")
}
