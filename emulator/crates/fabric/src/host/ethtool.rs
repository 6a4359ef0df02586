//! Offloads of an interface, as `ethtool -K` sets them. `[linux/ethtool.h]`
#![allow(unsafe_code, reason = "the request holds a pointer to its value")]

use std::ffi::c_void;

use rustix::fd::AsFd;
use rustix::ioctl::{self, IoctlOutput, Opcode};
use rustix::net::{AddressFamily, SocketType, socket};

use crate::error::{During, FabricError, Result};

const SIOCETHTOOL: Opcode = 0x8946;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const NAME_BYTES: usize = 16;

/// The kernel's `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// The kernel's `struct ifreq`: the name, and the pointer in the union after it.
#[repr(C)]
struct Request {
    name: [u8; NAME_BYTES],
    value: *mut EthtoolValue,
    rest: [u64; 2],
}

// SAFETY: the kernel reads and writes an `ifreq`, which `Request` is, and the value that it points
// to; both live until the call returns.
unsafe impl ioctl::Ioctl for Request {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        SIOCETHTOOL
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut *self).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

/// Makes an interface of the calling thread's namespace send packets as they appear on a wire: at
/// most its MTU, with checksums. A packet socket would otherwise forward packets that the offloads
/// have not completed.
pub fn send_whole_packets(interface: &str) -> Result<()> {
    let what = || format!("turning off the offloads of {interface}");
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).during(what)?;
    let mut name = [0; NAME_BYTES];
    let Some(room) = name[..NAME_BYTES - 1].get_mut(..interface.len()) else {
        return Err(FabricError::system(what(), "its name is too long"));
    };
    room.copy_from_slice(interface.as_bytes());
    for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_STXCSUM] {
        let mut value = EthtoolValue { command, data: 0 };
        let request = Request {
            name,
            value: &raw mut value,
            rest: [0; 2],
        };
        // SAFETY: `value` outlives the call, and SIOCETHTOOL takes an `ifreq` whose data is an
        // `ethtool_value`.
        unsafe { ioctl::ioctl(socket.as_fd(), request) }.during(what)?;
    }
    Ok(())
}
