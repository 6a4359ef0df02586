//! Measures the cost of a packet that a server returns by the extended routing service, with F in
//! native code, in a module, or in a process, compared with returning it directly, as in the
//! paper's Fig. 6. `[camcube §6]` One key; alternating rounds, the fastest of each counts. Fails if
//! a bound is exceeded. Run with `cargo bench -p cubeyard-sandbox --bench calls`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use cubeyard_dataplane::camcube::Structure;
use cubeyard_dataplane::camcube::header::{Header, ONE_HOP, OPTION_BYTES};
use cubeyard_dataplane::camcube::services::context::View;
use cubeyard_dataplane::camcube::services::runtime::Runtime;
use cubeyard_dataplane::protocol::Time;
use cubeyard_dataplane::service::{Action, Context, Key, Packet, Service};
use cubeyard_routing::torus::Shape;
use cubeyard_sandbox::{Module, ProcessLink, ProcessService, UserService};
use cubeyard_topology::{NodeId, Topology, TopologySpec, Torus3dSpec};

const ROUNDS: usize = 41;
/// Packets of a round, and of one of a process, which takes a hundred times as long.
const PACKETS: u32 = 2000;
const PROCESS_PACKETS: u32 = 100;
const LENGTHS: [usize; 2] = [64, 1500];
const ID: u16 = 256;
const NAME: &str = "back";
/// Server (1,1,1), and the neighbour that sends to it.
const ME: NodeId = 13;
const HERE: Key = [1, 1, 1];
const NEIGHBOUR: Key = [2, 1, 1];
const PORT: u8 = 0;
/// CPU of a whole server with |K| = 3 over that of sending back at once: 25.35 to 22.01 %.
/// `[camcube §6, Fig. 6]`
const PAPER: f64 = 1.15;
/// The largest ratio of a packet's cost with F in a module to its cost with native F; the next
/// constant is the same for a process.
const MODULE_BOUND: f64 = 4.0;
const PROCESS_BOUND: f64 = 400.0;
/// Interval between packets in virtual time, so that the module stays within its budget for a
/// second.
const GAP: Duration = Duration::from_millis(1);

/// Sends a packet back by the link that it came by.
struct Bounce;

impl Service for Bounce {
    fn name(&self) -> &str {
        NAME
    }

    fn packet(&mut self, context: &mut dyn Context, port: u8, packet: &mut Packet) -> Action {
        context.send(port, std::mem::take(packet));
        Action::Consumed
    }

    fn route(&mut self, _: &mut dyn Context, _: Key, _: &mut Packet) -> Vec<Key> {
        Vec::new()
    }
}

/// A service whose F returns the key in the packet.
struct Native;

impl Service for Native {
    fn name(&self) -> &str {
        NAME
    }

    fn packet(&mut self, _: &mut dyn Context, _: u8, _: &mut Packet) -> Action {
        Action::Pass
    }

    fn route(&mut self, _: &mut dyn Context, _: Key, packet: &mut Packet) -> Vec<Key> {
        packet.payload.first_chunk().map_or(Vec::new(), |key| vec![*key])
    }
}

const MODULE: &str = r#"(module
    (import "cubeyard" "next" (func $next (param i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "buffer") (result i32) (i32.const 0))
    (func (export "F") (param $at i32) (param $length i32)
        (drop (call $next (i32.and (i32.load (i32.const 0)) (i32.const 0xffffff)))))
    (func (export "classify") (param i32) (result i32) (i32.const 0))
    (func (export "deliver") (param i32 i32)))"#;

const PYTHON: &str = "from cubeyard_service import Service

class Back(Service):
    def F(self, at, packet):
        return (tuple(packet.payload[:3]),)
";

/// A Python process that answers calls, as the command line starts one, and its file.
struct Process {
    link: ProcessLink,
    socket: UnixDatagram,
    child: Child,
    file: PathBuf,
    buffer: Vec<u8>,
}

impl Process {
    /// Starts it; `None` without Python.
    fn start(link: ProcessLink) -> Option<Process> {
        let templates =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../backend/cubeyard/cli/service_templates");
        let file = std::env::temp_dir().join(format!("cubeyard-calls-{}.py", std::process::id()));
        std::fs::write(&file, PYTHON).unwrap();
        let (socket, theirs) = UnixDatagram::pair().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let child = Command::new("python3")
            .args(["-s", "-B"])
            .args([templates.join("cubeyard_service.py"), file.clone()])
            .args(["0", &std::process::id().to_string()])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn();
        link.connect();
        Some(Process {
            child: child.ok()?,
            link,
            socket,
            file,
            buffer: vec![0; 1 << 18],
        })
    }

    /// Passes the next call on; whether there was one, whose answer waits then.
    fn exchange(&mut self) -> bool {
        let Some(call) = self.link.next_call() else {
            return false;
        };
        self.socket.send(&call).unwrap();
        let length = self.socket.recv(&mut self.buffer).unwrap();
        self.link.answer(&self.buffer[..length]);
        true
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.file);
    }
}

/// A server's view of a torus of 27 servers without failures.
struct Place {
    structure: Structure,
    roots: Vec<Option<NodeId>>,
}

/// A way of sending a packet back.
struct Case<'a> {
    name: &'static str,
    place: &'a Place,
    runtime: Runtime,
    process: Option<Process>,
    flags: u8,
    packets: u32,
    now: Time,
}

impl<'a> Case<'a> {
    fn new(
        name: &'static str,
        place: &'a Place,
        service: Box<dyn Service>,
        link: Option<ProcessLink>,
    ) -> Option<Case<'a>> {
        let process = match link {
            Some(link) => Some(Process::start(link)?),
            None => None,
        };
        let mut case = Case {
            name,
            place,
            runtime: Runtime::new(vec![(ID, service)], place.structure.ports(), 1),
            packets: if process.is_some() {
                PROCESS_PACKETS
            } else {
                PACKETS
            },
            process,
            flags: 0,
            now: Duration::from_secs(1),
        };
        case.wake();
        case.settle();
        Some(case)
    }

    fn with<R>(&mut self, call: impl FnOnce(&mut Runtime, &View<'_>, Time) -> R) -> R {
        let view = View {
            me: ME,
            structure: &self.place.structure,
            // The benchmark queries no other server than the neighbour.
            shortest: &|server| u8::from(server != ME) << PORT,
            roots: &self.place.roots,
            up: 0x3f,
            max_payload: 8900,
        };
        call(&mut self.runtime, &view, self.now)
    }

    fn wake(&mut self) {
        self.with(|runtime, view, now| runtime.wake(view, now, ID));
    }

    fn settle(&mut self) {
        while self.process.as_mut().is_some_and(Process::exchange) {
            self.wake();
        }
    }

    /// Nanoseconds of a packet of that payload, from its arrival until it leaves.
    fn turn(&mut self, length: usize) -> f64 {
        let header = Header {
            service: ID,
            key: HERE,
            flags: self.flags,
            sequence: 1,
            hops: 1,
            queue: 0,
            colour: 0,
        };
        let mut payload = vec![7; length];
        payload[..3].copy_from_slice(&NEIGHBOUR);
        let packet = [&header.emit()[..], &payload].concat();
        let begun = Instant::now();
        for _ in 0..self.packets {
            self.now += GAP;
            self.with(|runtime, view, now| runtime.arrive(view, now, PORT, &packet));
            self.settle();
            let left = self.with(|runtime, view, now| runtime.next_packet(view, now, PORT));
            assert_eq!(
                left.map(|left| left.len()),
                Some(OPTION_BYTES + length),
                "{}",
                self.name
            );
        }
        begun.elapsed().as_nanos() as f64 / f64::from(self.packets)
    }
}

fn main() -> ExitCode {
    let topology = Topology::build(&TopologySpec::Torus3d(Torus3dSpec { x: 3, y: 3, z: 3 })).unwrap();
    let place = Place {
        structure: Structure::whole(Shape::new(&topology).unwrap()),
        roots: (0..27).map(Some).collect(),
    };
    let module = Module::new(&wat::parse_str(MODULE).unwrap()).unwrap();
    let in_module = UserService::new(NAME, &module, Duration::ZERO).unwrap();
    let (in_process, link) = ProcessService::new(NAME, 0, Duration::ZERO);
    let mut cases = vec![
        Case::new("sent back at once", &place, Box::new(Bounce), None).unwrap(),
        Case::new("F native", &place, Box::new(Native), None).unwrap(),
        Case::new("F in a module", &place, Box::new(in_module), None).unwrap(),
    ];
    cases[0].flags = ONE_HOP;
    match Case::new("F in a process", &place, Box::new(in_process), Some(link)) {
        Some(case) => cases.push(case),
        None => println!("F in a process: not measured, it needs python3"),
    }
    let mut least = vec![[f64::INFINITY; LENGTHS.len()]; cases.len()];
    for _ in 0..ROUNDS {
        for (row, case) in least.iter_mut().zip(&mut cases) {
            for (least, length) in row.iter_mut().zip(LENGTHS) {
                *least = least.min(case.turn(length));
            }
        }
    }
    println!(
        "ns a packet with |K| = 1 from its arrival until it leaves, least of {ROUNDS} rounds, and over F native"
    );
    println!(
        "{:>18}  {:>8}  {:>8}  {:>8}  {:>8}",
        "", "64 B", "", "1,500 B", ""
    );
    let native = least[1];
    let mut broken = false;
    for (at, (case, row)) in cases.iter().zip(&least).enumerate() {
        let ratios = [row[0] / native[0], row[1] / native[1]];
        let bound = [1.0, 1.0, MODULE_BOUND, PROCESS_BOUND][at];
        let kept = ratios.iter().all(|ratio| *ratio <= bound);
        broken |= !kept;
        let word = if kept { "kept" } else { "BROKEN" };
        println!(
            "{:>18}  {:>8.0}  {:>8.2}  {:>8.0}  {:>8.2}  {word}",
            case.name, row[0], ratios[0], row[1], ratios[1]
        );
    }
    let [short, long] = [native[0] / least[0][0], native[1] / least[0][1]];
    println!(
        "F native over sent back at once: {short:.2} and {long:.2}; the paper's whole server with |K| = 3: {PAPER}"
    );
    println!("bounds: a module {MODULE_BOUND} and a process {PROCESS_BOUND} times as much as native");
    ExitCode::from(u8::from(broken))
}
