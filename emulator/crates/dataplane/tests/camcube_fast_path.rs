//! Compares CamCube in the kernel with the vectors, and with user space on random frames.
//!
//! The programs run on single frames by `BPF_PROG_TEST_RUN`. That needs CAP_BPF and CAP_NET_ADMIN:
//! without them the tests print a message and pass, but in CI (`CI` set) they fail.

use crate::camcube_common as common;
use crate::corruption;
use crate::kernel_run;

use crate::forwarding_vectors::Entrance;
use aya::Ebpf;
use aya::maps::Array;
use common::{Outcome, Server, Vectors};
use corruption::corruption;
use kernel_run::{can_run, map};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

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
        let object = aya::include_bytes_aligned!("../../../bpf/camcube/camcube.bpf.o");
        let mut ebpf = kernel_run::load(object, ["cubeyard_vnic", "cubeyard_port"])?;
        for update in server.entries() {
            let key = u32::from_ne_bytes(update.key.0.try_into().unwrap());
            let value = update.value.unwrap().0;
            match &*update.table {
                "config" => set::<36>(&mut ebpf, "config", key, &value),
                "nst" => set::<20>(&mut ebpf, "nst", key, &value),
                "ways" => set::<8>(&mut ebpf, "ways", key, &value),
                other => panic!("no table {other}"),
            }
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
        Outcome { verdict, frame }
    }

    /// Resets the state, as if the server were new.
    fn forget(&mut self) {
        let mut clocks: Array<_, u64> = map(&mut self.ebpf, "clocks");
        for port in 0..clocks.len() {
            clocks.set(port, 0, 0).unwrap();
        }
        let mut sequences: Array<_, u32> = map(&mut self.ebpf, "sequences");
        for home in 0..sequences.len() {
            if sequences.get(&home, 0).unwrap() != 0 {
                sequences.set(home, 0, 0).unwrap();
            }
        }
    }
}

fn set<const N: usize>(ebpf: &mut Ebpf, name: &str, key: u32, value: &[u8]) {
    let mut array: Array<_, [u8; N]> = map(ebpf, name);
    array.set(key, <[u8; N]>::try_from(value).unwrap(), 0).unwrap();
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
#[ignore = "for the long run, `make test TEST=all`"]
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
