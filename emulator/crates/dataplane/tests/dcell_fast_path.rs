//! The fast path in the kernel against the vectors, and against user space on random frames.
//!
//! The programs run on single frames by `BPF_PROG_TEST_RUN`. That needs CAP_BPF and CAP_NET_ADMIN: without them the
//! tests say so and pass, in CI (`CI` set) they fail.

#![allow(clippy::unwrap_used)]

#[path = "dcell_common/mod.rs"]
mod common;

use aya::Ebpf;
use aya::maps::{Array, HashMap, Map, MapError, PerCpuArray, RingBuf};
use aya::programs::{SchedClassifier, TestRun, TestRunOptions};
use common::{Entrance, Outcome, Server, Vectors, Verdict};
use cubeyard_dataplane::dcell::tables::{NEW_FLOW, Notice, REROUTED};
use cubeyard_dataplane::drops::DropReason;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use zerocopy::{FromBytes, Immutable, IntoBytes};

const TC_ACT_OK: u32 = 0;
const TC_ACT_SHOT: u32 = 2;
const TC_ACT_REDIRECT: u32 = 7;
const LONGEST: usize = 16 * 1024;

/// `BPF_PROG_TEST_RUN` refuses frames without a whole IP header: those are for user space alone.
fn can_run(frame: &[u8]) -> bool {
    let ipv6 = frame.get(12..14) == Some(&[0x86, 0xdd]);
    frame.len() >= if ipv6 { 54 } else { 34 }
}

/// The programs of one server, in the kernel.
struct FastPath {
    ebpf: Ebpf,
    server: Server,
}

impl FastPath {
    /// Loads the object and fills its maps. `None`, said aloud, where the kernel does not let us.
    fn load(server: &Server) -> Option<FastPath> {
        let mut ebpf = match Ebpf::load(aya::include_bytes_aligned!("../../../bpf/dcell/dcell.bpf.o")) {
            Ok(ebpf) => ebpf,
            Err(refused) if std::env::var_os("CI").is_none() => {
                eprintln!("skipped: eBPF needs root here: {refused}");
                return None;
            }
            Err(refused) => panic!("eBPF must load in CI: {refused}"),
        };
        for name in ["cubeyard_vnic", "cubeyard_port"] {
            program(&mut ebpf, name).load().unwrap();
        }
        let mut config: Array<_, [u8; 28]> = map(&mut ebpf, "config");
        config.set(0, bytes_of(&server.config()), 0).unwrap();
        let mut nst: Array<_, [u8; 20]> = map(&mut ebpf, "nst");
        for (number, hop) in server.next_hops() {
            nst.set(number.into(), bytes_of(&hop), 0).unwrap();
        }
        let mut fib: HashMap<_, u32, [u8; 16]> = map(&mut ebpf, "fib");
        for (to, route) in server.routes() {
            fib.insert(to, bytes_of(&route), 0).unwrap();
        }
        Some(FastPath {
            ebpf,
            server: server.clone(),
        })
    }

    /// Runs the program at an entrance on one frame.
    fn run(&mut self, enters: Entrance, frame: &[u8]) -> Outcome {
        let name = match enters {
            Entrance::Vnic => "cubeyard_vnic",
            Entrance::Port => "cubeyard_port",
        };
        let before = self.drops();
        let mut out = vec![0; LONGEST];
        let options = TestRunOptions {
            data_in: Some(frame),
            data_out: Some(&mut out),
            ..TestRunOptions::new()
        };
        let result = program(&mut self.ebpf, name)
            .test_run(options)
            .unwrap_or_else(|refused| panic!("{refused}: {frame:02x?}"));
        out.truncate(result.data_size_out as usize);
        let dropped: Vec<&DropReason> = DropReason::ALL
            .iter()
            .zip(before.iter().zip(self.drops()))
            .flat_map(|(reason, (before, after))| std::iter::repeat_n(reason, (after - before) as usize))
            .collect();
        let (verdict, frame) = match (result.return_value, &dropped[..]) {
            (TC_ACT_OK, []) => (Verdict::Pass, Vec::new()),
            (TC_ACT_SHOT, [reason]) => (Verdict::Drop(reason.name().to_owned()), Vec::new()),
            // Both are redirects; only what is delivered goes to the virtual NIC's address.
            (TC_ACT_REDIRECT, []) if out[..6] == self.server.config().vnic_mac => (Verdict::Deliver, out),
            (TC_ACT_REDIRECT, []) => (Verdict::Send, out),
            other => panic!("action and drops {other:?} do not go together"),
        };
        Outcome {
            verdict,
            frame,
            notices: self.notices(),
        }
    }

    fn drops(&mut self) -> Vec<u64> {
        let drops: PerCpuArray<_, u64> = map(&mut self.ebpf, "drops");
        let count = |index| drops.get(&index, 0).unwrap().iter().sum();
        (0..DropReason::COUNT as u32).map(count).collect()
    }

    fn notices(&mut self) -> Vec<Notice> {
        let mut ring: RingBuf<_> = map(&mut self.ebpf, "events");
        std::iter::from_fn(|| {
            let notice = Notice::read_from_bytes(&ring.next()?).unwrap();
            assert_ne!(notice.at_nanos, 0);
            Some(Notice {
                at_nanos: 0,
                ..notice
            })
        })
        .collect()
    }

    /// Forgets the flows seen and the events sent, as if the server were new.
    fn forget(&mut self) {
        let mut counts: HashMap<_, [u8; 16], [u8; 24]> = map(&mut self.ebpf, "flow_counts");
        let seen: Vec<[u8; 16]> = counts.keys().map(Result::unwrap).collect();
        for flow in seen {
            counts.remove(&flow).unwrap();
        }
        let mut limits: Array<_, u64> = map(&mut self.ebpf, "limits");
        for kind in [NEW_FLOW, REROUTED] {
            limits.set(kind, 0, 0).unwrap();
        }
    }
}

/// A map of the object, with the types of its keys and values.
fn map<'a, M: TryFrom<&'a mut Map, Error = MapError>>(ebpf: &'a mut Ebpf, name: &str) -> M {
    ebpf.map_mut(name).unwrap().try_into().unwrap()
}

fn bytes_of<const N: usize>(value: &(impl IntoBytes + Immutable)) -> [u8; N] {
    value.as_bytes().try_into().unwrap()
}

fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> &'a mut SchedClassifier {
    ebpf.program_mut(name).unwrap().try_into().unwrap()
}

#[test]
fn the_fast_path_does_what_the_vectors_say() {
    let vectors = Vectors::read();
    for (name, server) in &vectors.servers {
        let Some(mut fast_path) = FastPath::load(server) else {
            return;
        };
        let cases = vectors.cases.iter().filter(|case| case.server == *name);
        for case in cases.filter(|case| can_run(&case.frame())) {
            let outcome = fast_path.run(case.enters, &case.frame());
            assert_eq!(outcome, case.outcome(server), "{}", case.name);
            fast_path.forget();
        }
    }
}

/// A frame of the vectors with some bytes changed, cut or padded.
#[derive(Clone, Debug)]
struct Damage {
    case: prop::sample::Index,
    changes: Vec<(prop::sample::Index, u8)>,
    length: Option<usize>,
    /// Makes the header's checksum right again, so that the damage gets past it.
    repaired: bool,
}

fn damage() -> impl Strategy<Value = Damage> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let length = prop::option::of(34usize..160);
    (any::<prop::sample::Index>(), changes, length, any::<bool>()).prop_map(
        |(case, changes, length, repaired)| Damage {
            case,
            changes,
            length,
            repaired,
        },
    )
}

impl Damage {
    fn apply(&self, mut frame: Vec<u8>) -> Vec<u8> {
        for (at, value) in &self.changes {
            // Most of what matters stands in the first 80 bytes.
            let at = at.index(frame.len().min(80));
            frame[at] ^= value;
        }
        if let Some(length) = self.length {
            frame.resize(length, 0xa5);
        }
        if self.repaired
            && let Some(header) = frame.get_mut(14..50)
        {
            header[10..12].fill(0);
            let sum: u32 = header
                .chunks(2)
                .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
                .sum();
            let folded = (sum & 0xffff) + (sum >> 16);
            let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        frame
    }
}

#[test]
fn both_forwardings_do_the_same_with_damaged_frames() {
    let vectors = Vectors::read();
    for (name, server) in &vectors.servers {
        let Some(fast_path) = FastPath::load(server) else {
            return;
        };
        let fast_path = std::cell::RefCell::new(fast_path);
        let cases: Vec<_> = vectors.cases.iter().filter(|case| case.server == *name).collect();
        TestRunner::new(Config {
            cases: 4096,
            failure_persistence: None,
            ..Config::default()
        })
        .run(&damage(), |damage| {
            let case = damage.case.get(&cases);
            let frame = damage.apply(case.frame());
            prop_assume!(can_run(&frame));
            let mut fast_path = fast_path.borrow_mut();
            fast_path.forget();
            let in_kernel = fast_path.run(case.enters, &frame);
            let in_software = server.in_software(&mut server.software(), case.enters, &frame);
            prop_assert_eq!(in_kernel, in_software, "{}: {:02x?}", case.name, frame);
            Ok(())
        })
        .unwrap();
    }
}
