//! The socket options that no library has a safe call for.
#![allow(
    unsafe_code,
    reason = "setsockopt, getsockopt with a value of the size that is passed along"
)]

use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::libc;

/// Wakes a reader only when that many bytes are there, or the stream has ended.
pub fn set_receive_low_water(fd: impl AsFd, bytes: u32) -> nix::Result<()> {
    set_u32(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Has the kernel pace a TCP connection.
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

/// Segments that a TCP connection has sent again so far.
pub fn retransmits(fd: impl AsFd) -> nix::Result<u32> {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes, the size of `info`, which outlives the call.
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
