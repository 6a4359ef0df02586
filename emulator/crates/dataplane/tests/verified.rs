//! The number of instructions that the kernel's verifier examines in our programs. The verifier
//! rejects a program above a million, so these tests show the distance to that limit. Needs root;
//! fails in CI without it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;

use aya::Ebpf;
use aya::programs::{Program, SchedClassifier};
use cubeyard_dataplane::catalog::{ForwardingKind, PROTOCOLS};
use cubeyard_dataplane::object::{FAIR, GUARD, QUEUE};

/// Equals `BPF_COMPLEXITY_LIMIT_INSNS` in the kernel.
const LIMIT: u32 = 1_000_000;

/// The number of instructions examined for each program of an object. Prints a message and returns
/// `None` if the kernel does not allow loading them.
fn verified(object: &[u8]) -> Option<BTreeMap<String, u32>> {
    let mut ebpf = match Ebpf::load(object) {
        Ok(ebpf) => ebpf,
        Err(refused) if std::env::var_os("CI").is_none() => {
            println!("skipped: eBPF needs root here: {refused}");
            return None;
        }
        Err(refused) => panic!("eBPF must load in CI: {refused}"),
    };
    let looked_at = |(name, program): (&str, &mut Program)| {
        let program: &mut SchedClassifier = program.try_into().unwrap();
        program.load().unwrap();
        let count = program.info().unwrap().verified_instruction_count();
        (name.to_owned(), count.expect("Linux 5.16 reports it"))
    };
    Some(ebpf.programs_mut().map(looked_at).collect())
}

#[test]
fn half_of_what_the_verifier_may_look_at_is_left() {
    let forwardings = PROTOCOLS.iter().flat_map(|protocol| protocol.forwardings);
    let objects = forwardings.filter_map(|forwarding| match forwarding.kind {
        ForwardingKind::Kernel(object) => Some(object.bytes),
        _ => None,
    });
    let mut seen = 0;
    for object in objects.chain([FAIR, GUARD, QUEUE].map(|object| object.bytes)) {
        let Some(programs) = verified(object) else {
            return;
        };
        for (name, count) in programs {
            println!("{name}: {count} of {LIMIT}");
            assert!(
                count > 0 && count <= LIMIT / 2,
                "{name}: the verifier looks at {count}"
            );
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen} programs");
}
