//! Compares the fast path in the kernel with the vectors, and with user space on random frames.
//!
//! The programs run on single frames by `BPF_PROG_TEST_RUN`. That needs CAP_BPF and CAP_NET_ADMIN:
//! without them the tests print a message and pass, but in CI (`CI` set) they fail.

use crate::corruption;
use crate::dcell_common as common;
use crate::kernel_run;

use crate::forwarding_vectors::Entrance;
use aya::Ebpf;
use aya::maps::{Array, HashMap, RingBuf};
use common::{Outcome, Server, Vectors};
use corruption::corruption;
use cubeyard_dataplane::dcell::tables::{NEW_FLOW, Notice, REROUTED};
use kernel_run::{can_run, map};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Length of an IP header with its option.
const HEADER_BYTES: usize = 36;

/// The programs of one server, in the kernel.
struct FastPath {
    ebpf: Ebpf,
    server: Server,
}

impl FastPath {
    /// Loads the object and fills its maps. Prints a message and returns `None` if the kernel does
    /// not allow it.
    fn load(server: &Server) -> Option<FastPath> {
        let object = aya::include_bytes_aligned!("../../../bpf/dcell/dcell.bpf.o");
        let mut ebpf = kernel_run::load(object, ["cubeyard_vnic", "cubeyard_port"])?;
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
        let (verdict, frame) = kernel_run::run(&mut self.ebpf, name, frame, self.server.config().vnic_mac);
        Outcome {
            verdict,
            frame,
            notices: self.notices(),
        }
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

    /// Resets flows and events, as if the server were new.
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

fn bytes_of<const N: usize>(value: &(impl IntoBytes + Immutable)) -> [u8; N] {
    value.as_bytes().try_into().unwrap()
}

#[test]
fn the_fast_path_agrees_with_the_vectors() {
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
            cases: 16 * Config::default().cases,
            failure_persistence: None,
            ..Config::default()
        })
        .run(&corruption(), |corruption| {
            let case = corruption.case.get(&cases);
            let frame = corruption.apply(case.frame(), HEADER_BYTES);
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
