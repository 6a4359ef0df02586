//! The hellos of one namespace as Ethernet frames.

use crate::error::Result;
use crate::host::packet_socket::{Frames, PacketSocket};

/// EtherType for local experiments. `[IEEE 802, clause 9.2.4]`
const ETHER_TYPE: u16 = 0x88b5;
/// First bytes of a hello; messages may follow.
const PAYLOAD: &[u8] = b"hello";
/// Maximum bytes of messages in a hello, so that it fits an Ethernet frame of every link.
pub const MESSAGE_BYTES: usize = 1400;

/// Sends and receives the hellos of a namespace.
#[derive(Debug)]
pub struct HelloSocket(PacketSocket);

impl HelloSocket {
    /// Opens a socket in the namespace of the calling thread.
    pub fn open() -> Result<HelloSocket> {
        PacketSocket::open(Frames::Contents, ETHER_TYPE).map(HelloSocket)
    }

    /// Sends a hello with messages from an interface. A hello that the kernel refuses is lost, as
    /// on a link.
    pub fn send(&self, index: u32, messages: &[u8]) {
        self.0.send(index, &[PAYLOAD, messages].concat());
    }

    /// Calls `each` for every waiting hello, with its interface and the messages that it carries.
    pub fn heard(&self, mut each: impl FnMut(u32, &[u8])) {
        let mut buffer = [0_u8; PAYLOAD.len() + MESSAGE_BYTES];
        while let Some((index, length)) = self.0.receive(&mut buffer) {
            if let Some(messages) = buffer[..length].strip_prefix(PAYLOAD) {
                each(index, messages);
            }
        }
    }
}
