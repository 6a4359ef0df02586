//! Runs programs for the kernel on single frames by `BPF_PROG_TEST_RUN`. That needs CAP_BPF and
//! CAP_NET_ADMIN: without them tests print a message and pass, but in CI (`CI` set) they fail.
#![allow(clippy::unwrap_used, dead_code, reason = "each test uses some of it")]

use aya::Ebpf;
use aya::maps::{Map, MapError, PerCpuArray};
use aya::programs::{SchedClassifier, TestRun, TestRunOptions};
use cubeyard_dataplane::drops::DropReason;

use crate::forwarding_vectors::Verdict;

pub const TC_ACT_OK: u32 = 0;
pub const TC_ACT_SHOT: u32 = 2;
pub const TC_ACT_REDIRECT: u32 = 7;
const LONGEST: usize = 16 * 1024;

/// `BPF_PROG_TEST_RUN` refuses frames without a complete IP header, so only user space can be
/// tested with them.
pub fn can_run(frame: &[u8]) -> bool {
    let ipv6 = frame.get(12..14) == Some(&[0x86, 0xdd]);
    frame.len() >= if ipv6 { 54 } else { 34 }
}

/// Loads these programs of an object. Prints a message and returns `None` if the kernel does not
/// allow it.
pub fn load<'a>(object: &[u8], programs: impl IntoIterator<Item = &'a str>) -> Option<Ebpf> {
    let mut ebpf = match Ebpf::load(object) {
        Ok(ebpf) => ebpf,
        Err(refused) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: eBPF needs root here: {refused}");
            return None;
        }
        Err(refused) => panic!("eBPF must load in CI: {refused}"),
    };
    for name in programs {
        program(&mut ebpf, name).load().unwrap();
    }
    Some(ebpf)
}

/// Runs a program on a frame: returns TC's verdict, and the frame afterwards.
pub fn run_raw(ebpf: &mut Ebpf, name: &str, frame: &[u8]) -> (u32, Vec<u8>) {
    let mut out = vec![0; LONGEST];
    let options = TestRunOptions {
        data_in: Some(frame),
        data_out: Some(&mut out),
        ..TestRunOptions::new()
    };
    let result = program(ebpf, name)
        .test_run(options)
        .unwrap_or_else(|refused| panic!("{refused}: {frame:02x?}"));
    out.truncate(result.data_size_out as usize);
    (result.return_value, out)
}

/// Runs a program on a frame that consists of several packets; returns TC's verdict.
pub fn run_several(ebpf: &mut Ebpf, name: &str, frame: &[u8], data_bytes: u32, packets: u32) -> u32 {
    // Offsets in `struct __sk_buff` [linux/bpf.h].
    const SEGMENTS: usize = 164;
    const SIZE: usize = 176;
    let mut context = [0_u8; 192];
    context[SEGMENTS..SEGMENTS + 4].copy_from_slice(&packets.to_ne_bytes());
    context[SIZE..SIZE + 4].copy_from_slice(&data_bytes.to_ne_bytes());
    let options = TestRunOptions {
        data_in: Some(frame),
        ctx_in: Some(&context),
        ..TestRunOptions::new()
    };
    program(ebpf, name).test_run(options).unwrap().return_value
}

/// The verdict of a forwarding's program on a frame, and the sent frame, which is empty if there is
/// none. `vnic_mac` is the address of the server's virtual NIC.
pub fn run(ebpf: &mut Ebpf, name: &str, frame: &[u8], vnic_mac: [u8; 6]) -> (Verdict, Vec<u8>) {
    let before = drops(ebpf);
    let (action, out) = run_raw(ebpf, name, frame);
    let dropped: Vec<&DropReason> = DropReason::ALL
        .iter()
        .zip(before.iter().zip(drops(ebpf)))
        .flat_map(|(reason, (before, after))| std::iter::repeat_n(reason, (after - before) as usize))
        .collect();
    match (action, &dropped[..]) {
        (TC_ACT_OK, []) => (Verdict::Pass, Vec::new()),
        (TC_ACT_SHOT, [reason]) => (Verdict::Drop(reason.name().to_owned()), Vec::new()),
        // Both verdicts are redirects; only delivered frames have the virtual NIC's address.
        (TC_ACT_REDIRECT, []) if out[..6] == vnic_mac => (Verdict::Deliver, out),
        (TC_ACT_REDIRECT, []) => (Verdict::Send, out),
        other => panic!("action and drops {other:?} do not go together"),
    }
}

fn drops(ebpf: &mut Ebpf) -> Vec<u64> {
    let drops: PerCpuArray<_, u64> = map(ebpf, "drops");
    let count = |index| drops.get(&index, 0).unwrap().iter().sum();
    (0..DropReason::COUNT as u32).map(count).collect()
}

/// A map of the object, with the types of its keys and values.
pub fn map<'a, M: TryFrom<&'a mut Map, Error = MapError>>(ebpf: &'a mut Ebpf, name: &str) -> M {
    ebpf.map_mut(name).unwrap().try_into().unwrap()
}

pub fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> &'a mut SchedClassifier {
    ebpf.program_mut(name).unwrap().try_into().unwrap()
}
