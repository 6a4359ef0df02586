//! Socket options for which no library has a safe function.
#![allow(
    unsafe_code,
    reason = "setsockopt, getsockopt with a value of the size that is passed along"
)]

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};

use cubeyard_messages::SubflowRow;
use nix::errno::Errno;
use nix::libc;

/// Wakes a reader only when at least this many bytes are available, or the stream has ended.
pub fn set_receive_low_water(fd: impl AsFd, bytes: u32) -> nix::Result<()> {
    set_u32(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Makes the kernel pace a TCP connection at this rate.
pub fn set_pacing_rate(fd: impl AsFd, bytes_per_sec: u32) -> nix::Result<()> {
    set_u32(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bytes_per_sec)
}

fn set_u32(fd: impl AsFd, level: libc::c_int, name: libc::c_int, value: u32) -> nix::Result<()> {
    let length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `value`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            length,
        )
    };
    Errno::result(result).map(drop)
}

/// Kinds of `SOL_MPTCP`'s options, from `linux/mptcp.h`.
const SOL_MPTCP: libc::c_int = 284;
const MPTCP_TCPINFO: libc::c_int = 2;
const MPTCP_SUBFLOW_ADDRS: libc::c_int = 3;
/// Capacity for subflows of an answer, more than the kernel allows.
const MOST_SUBFLOWS: usize = 16;
/// Start of an answer: its own length, the number of subflows, and the length of a subflow's part
/// in the kernel and here.
const HEAD_BYTES: usize = 16;
/// Length of the two addresses of a subflow, each a `sockaddr_storage`.
const ADDRESSES_BYTES: usize = 256;
/// Bytes of a subflow's `tcp_info` that are read, and offsets of the counters in it.
const INFO_BYTES: usize = 128;
const RETRANSMITS_AT: usize = 100;
const BYTES_ACKED_AT: usize = 120;

/// The current subflows of an MPTCP connection; none for an ordinary TCP connection. If the list
/// changes meanwhile, that is an error.
pub fn subflows(fd: impl AsFd) -> nix::Result<Vec<SubflowRow>> {
    let addresses = of_subflows(&fd, MPTCP_SUBFLOW_ADDRS, ADDRESSES_BYTES)?;
    let infos = of_subflows(&fd, MPTCP_TCPINFO, INFO_BYTES)?;
    if addresses.len() != infos.len() {
        return Err(Errno::EAGAIN);
    }
    let row = |(addresses, info): (Vec<u8>, Vec<u8>)| {
        let (own, peer) = addresses.split_at(ADDRESSES_BYTES / 2);
        let number = |at: usize| info[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
        let long = |at: usize| info[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
        SubflowRow {
            ips: [own, peer].map(|end| Ipv4Addr::new(end[4], end[5], end[6], end[7])),
            source_port: u16::from_be_bytes([own[2], own[3]]),
            bytes: long(BYTES_ACKED_AT),
            retransmits: number(RETRANSMITS_AT).into(),
        }
    };
    Ok(addresses.into_iter().zip(infos).map(row).collect())
}

/// The answer of one option, split into the parts of subflows.
fn of_subflows(fd: impl AsFd, name: libc::c_int, part_bytes: usize) -> nix::Result<Vec<Vec<u8>>> {
    let mut bytes = vec![0_u8; HEAD_BYTES + MOST_SUBFLOWS * part_bytes];
    bytes[..4].copy_from_slice(&(HEAD_BYTES as u32).to_ne_bytes());
    bytes[12..16].copy_from_slice(&(part_bytes as u32).to_ne_bytes());
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of `bytes`, which outlives the
    // call.
    let result = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            SOL_MPTCP,
            name,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    Errno::result(result)?;
    let parts = bytes[HEAD_BYTES..(length as usize).max(HEAD_BYTES)].chunks_exact(part_bytes);
    Ok(parts.map(<[u8]>::to_vec).collect())
}

/// Number of segments that a TCP connection has retransmitted.
pub fn retransmits(fd: impl AsFd) -> nix::Result<u32> {
    // SAFETY: all fields are integers, for which zero is a valid value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes, the size of `info`, which outlives the
    // call.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    Errno::result(result).map(|_| info.tcpi_total_retrans)
}
