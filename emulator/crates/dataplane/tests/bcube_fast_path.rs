//! Compares the fast path in the kernel with the vectors, and on random frames with user space:
//! BCube's own programs, and those of ServerSwitch's chip.

use crate::bcube_common as common;
use crate::bcube_kernel as kernel;
use crate::chip_header;
use crate::corruption;

use crate::forwarding_vectors::{Entrance, Verdict};
use crate::kernel_run::can_run;
use common::{Case, Vectors};
use corruption::corruption;
use cubeyard_dataplane::bcube::chip::ChipForwarding;
use cubeyard_dataplane::bcube::forwarding::SoftwareForwarding;
use cubeyard_dataplane::bcube::header::HEADER_BYTES;
use cubeyard_dataplane::catalog::{CHIP, KERNEL};
use kernel::FastPath;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Length of an IPv4 header without options.
const IP_BYTES: usize = 20;

#[test]
fn the_fast_path_agrees_with_the_vectors() {
    let vectors = Vectors::read();
    for (name, server) in &vectors.servers {
        let Some(mut fast_path) = FastPath::load(server, KERNEL) else {
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
        let Some(fast_path) = FastPath::load(server, KERNEL) else {
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
            let in_software =
                server.in_software(&mut server.software::<SoftwareForwarding>(), case.enters, &frame);
            prop_assert_eq!(in_kernel, in_software, "{}: {:02x?}", case.name, frame);
            Ok(())
        })
        .unwrap();
    }
}

/// A vector's frame, with BCube's header replaced by the chip's.
fn chip_frame(case: &Case) -> Vec<u8> {
    match case.enters {
        Entrance::Vnic => case.frame(),
        Entrance::Port => chip_header::of(case.frame()),
    }
}

#[test]
fn the_chip_in_the_kernel_does_what_the_one_in_user_space_does() {
    compare_chips(&["plain"], 5);
}

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn the_chip_in_the_kernel_does_the_same_at_a_gateway_and_without_a_configuration() {
    compare_chips(&["gateway", "unconfigured"], 1);
}

/// Compares the chips in the kernel and in user space at these servers of the vectors. At least
/// `least` frames must be forwarded or delivered.
fn compare_chips(names: &[&str], least: u32) {
    let vectors = Vectors::read();
    let mut sent = 0;
    for &name in names {
        let server = &vectors.servers[name];
        let Some(mut fast_path) = FastPath::load(server, CHIP) else {
            return;
        };
        fast_path.come_in_by(0);
        // Each update of its tables generates the chip's whole program again.
        let software = server.software::<ChipForwarding>();
        let cases: Vec<&Case> = vectors.cases.iter().filter(|case| case.server == name).collect();
        for case in &cases {
            let frame = chip_frame(case);
            if !can_run(&frame) {
                continue;
            }
            fast_path.forget();
            let in_kernel = fast_path.run(case.enters, &frame);
            let in_software = server.in_software(&mut software.clone(), case.enters, &frame);
            assert_eq!(in_kernel, in_software, "{}", case.name);
            // Packets that BCube's own programs send or deliver take the same path through the
            // chip. The paper's program also delivers at the path's end if hops are left.
            let own = case.outcome(server);
            if case.name != "a path through its own end goes on"
                && matches!(own.verdict, Verdict::Send | Verdict::Deliver)
            {
                assert_eq!(
                    (&own.verdict, &own.notices),
                    (&in_kernel.verdict, &in_kernel.notices),
                    "{}",
                    case.name
                );
                let macs = |frame: &[u8]| frame[..12].to_vec();
                assert_eq!(macs(&own.frame), macs(&in_kernel.frame), "{}", case.name);
                sent += 1;
            }
        }
        let fast_path = std::cell::RefCell::new(fast_path);
        TestRunner::new(Config {
            cases: 4 * Config::default().cases,
            failure_persistence: None,
            ..Config::default()
        })
        .run(&corruption(), |corruption| {
            let case = *corruption.case.get(&cases);
            let frame = corruption.apply(chip_frame(case), IP_BYTES);
            prop_assume!(can_run(&frame));
            let mut fast_path = fast_path.borrow_mut();
            fast_path.forget();
            let in_kernel = fast_path.run(case.enters, &frame);
            let in_software = server.in_software(&mut software.clone(), case.enters, &frame);
            prop_assert_eq!(in_kernel, in_software, "{}: {:02x?}", case.name, frame);
            Ok(())
        })
        .unwrap();
    }
    assert!(sent >= least, "forwarded frames: {sent}");
}
