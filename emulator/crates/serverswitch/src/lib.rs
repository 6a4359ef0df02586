//! ServerSwitch's API `[serverswitch §3.3.2]` for a program in a separate container at a server of
//! a run: the paper's calls over the server's socket. Needs only the standard library. `c/` is the
//! same in C, `backend/cubeyard/chip/serverswitch.py` in Python.
//!
//! ```no_run
//! use cubeyard_serverswitch::{Action, ServerSwitch, SOCKET, Table};
//! # fn main() -> Result<(), cubeyard_serverswitch::Error> {
//! let mut chip = ServerSwitch::connect(SOCKET)?;
//! chip.set_udlk(1, "(B0-5)")?;
//! chip.set_vif_table(3, Some("001F29D417E8"), None, 2)?;
//! chip.set_lookup_table(Table::Tcam, 1, 1, "000001020001", Some("FFFFFF000000"), &Action::redirect_vif(3))?;
//! let waiting = chip.read_register("OUTPUT_QUEUE_BYTES_PORT0")?;
//! let (packet, iport) = chip.recv_packet()?;
//! chip.send_packet(&packet, iport)?;
//! # let _ = waiting; Ok(()) }
//! ```
//!
//! `cubeyard_chip::api` describes the wire format.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Where a program finds the socket in its container.
pub const SOCKET: &str = "/run/cubeyard/chip.sock";

const CALLS: u8 = 1;
const READ: u8 = 2;
const WRITE: u8 = 3;
const SEND: u8 = 4;
const LISTEN: u8 = 5;
const DONE: u8 = 128;
const REFUSED: u8 = 129;
const PACKET: u8 = 130;
const HEAD_BYTES: usize = 5;
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Packets that are kept while an answer is waited for; the oldest are lost beyond.
const KEPT: usize = 1024;

/// Why a call was not carried out.
#[derive(Debug)]
pub enum Error {
    /// The socket failed: the server has exited or does not exist.
    Io(io::Error),
    /// The chip refuses it: a stable code, and a sentence with the value, the limit and the fix.
    Refused {
        /// For example `table-full`.
        code: String,
        /// For people.
        message: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => write!(f, "the chip's socket: {error}"),
            Error::Refused { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// A lookup table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Value and mask on a user-defined lookup key.
    Tcam,
    /// Exact match on the destination MAC.
    EmMac,
    /// Exact match on the IPv4 destination.
    EmIpv4,
    /// Exact match on the outermost MPLS label.
    EmMpls,
    /// Longest prefix of the IPv4 destination.
    LpmIpv4,
}

impl Table {
    fn name(self) -> &'static str {
        match self {
            Table::Tcam => "TCAM",
            Table::EmMac => "EM_MAC",
            Table::EmIpv4 => "EM_IPV4",
            Table::EmMpls => "EM_MPLS",
            Table::LpmIpv4 => "LPM_IPV4",
        }
    }
}

/// The action of an entry on a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action(String);

impl Action {
    /// An action as programs write it, without brackets:
    /// `act=REDIRECT_VIF, vif=3, mpls=SWAP, label=7`.
    pub fn of(text: &str) -> Action {
        Action(text.to_owned())
    }

    /// Through an entry of the interface table.
    pub fn redirect_vif(vif: u16) -> Action {
        Action(format!("act=REDIRECT_VIF, vif={vif}"))
    }

    /// Out of a port as it is.
    pub fn redirect_port(port: u8) -> Action {
        Action(format!("act=REDIRECT_PORT, port={port}"))
    }

    /// Drops the packet.
    pub fn discard() -> Action {
        Action::of("act=DISCARD")
    }

    /// To this program, by [`ServerSwitch::recv_packet`].
    pub fn to_cpu() -> Action {
        Action::of("act=TO_CPU")
    }

    /// Copies the packet to a port; the next table decides on the packet itself.
    pub fn mirror(port: u8) -> Action {
        Action(format!("act=MIRROR, port={port}"))
    }
}

/// The chip of the server.
#[derive(Debug)]
pub struct ServerSwitch {
    stream: UnixStream,
    tag: u32,
    listens: bool,
    batch: Option<String>,
    packets: VecDeque<(Vec<u8>, u8)>,
    lost: u64,
}

impl ServerSwitch {
    /// Connects to the server's chip. Errors: there is no such socket.
    pub fn connect(path: impl AsRef<Path>) -> Result<ServerSwitch> {
        Ok(ServerSwitch {
            stream: UnixStream::connect(path)?,
            tag: 0,
            listens: false,
            batch: None,
            packets: VecDeque::new(),
            lost: 0,
        })
    }

    /// Longest wait for an answer or a packet; `None` is for ever, as at first.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        Ok(self.stream.set_read_timeout(timeout)?)
    }

    /// `SetUDLK(int i, UDLK udlk)`: fields like `(INPORT, B30-33)`.
    #[doc(alias = "SetUDLK")]
    pub fn set_udlk(&mut self, i: u8, udlk: &str) -> Result<()> {
        self.call(&format!("SetUDLK({i}, {udlk});"))
    }

    /// `SetLookupTable(int type, int i, int iudlk, char *value, char *mask, ACTION *action)`: value
    /// and mask in hexadecimal digits, `None` for no mask.
    #[doc(alias = "SetLookupTable")]
    pub fn set_lookup_table(
        &mut self,
        table: Table,
        i: u32,
        iudlk: u8,
        value: &str,
        mask: Option<&str>,
        action: &Action,
    ) -> Result<()> {
        let (table, value, mask) = (table.name(), quoted(Some(value)), quoted(mask));
        self.call(&format!(
            "SetLookupTable({table}, {i}, {iudlk}, {value}, {mask}, {{{}}});",
            action.0
        ))
    }

    /// `ClearLookupTable(type, i)` `[ours]`: takes back what a call has set there.
    pub fn clear_lookup_table(&mut self, table: Table, i: u32) -> Result<()> {
        self.call(&format!("ClearLookupTable({}, {i});", table.name()))
    }

    /// `SetVIfTable(int i, char *dmac, char *smac, int oport)`; `None` keeps a packet's MAC.
    #[doc(alias = "SetVIfTable")]
    pub fn set_vif_table(&mut self, i: u16, dmac: Option<&str>, smac: Option<&str>, oport: u8) -> Result<()> {
        let (dmac, smac) = (quoted(dmac), quoted(smac));
        self.call(&format!("SetVIfTable({i}, {dmac}, {smac}, {oport});"))
    }

    /// From here to [`ServerSwitch::commit`] calls that set tables are collected `[ours]`.
    pub fn begin(&mut self) {
        self.batch.get_or_insert_default();
    }

    /// Puts all that was collected into effect at once, or nothing of it. Errors: the first
    /// mistake.
    pub fn commit(&mut self) -> Result<()> {
        match self.batch.take() {
            Some(calls) if !calls.is_empty() => self.ask(CALLS, &[calls.as_bytes()]).map(drop),
            _ => Ok(()),
        }
    }

    /// `int ReadRegister(int regname)`.
    #[doc(alias = "ReadRegister")]
    pub fn read_register(&mut self, name: &str) -> Result<u64> {
        let value = self.ask(READ, &[name.as_bytes()])?;
        let value = value.first_chunk().ok_or_else(garbled)?;
        Ok(u64::from_le_bytes(*value))
    }

    /// `int WriteRegister(int regname, int value)`.
    #[doc(alias = "WriteRegister")]
    pub fn write_register(&mut self, name: &str, value: u64) -> Result<()> {
        self.ask(WRITE, &[&value.to_le_bytes(), name.as_bytes()])
            .map(drop)
    }

    /// `int SendPacket(char *pkt, int oport)`: out of an external port, or by a port from 4 to 7
    /// into the chip. Whether it was sent; the chip may discard it.
    #[doc(alias = "SendPacket")]
    pub fn send_packet(&mut self, packet: &[u8], oport: u8) -> Result<bool> {
        let answer = self.ask(SEND, &[&[oport], packet])?;
        Ok(answer.first() == Some(&0))
    }

    /// `int RecvPacket(char *pkt, int *iport)`: the next packet that an entry of ours has sent to
    /// the CPU, and the port that it came by. Waits for one. From the first call on packets are
    /// kept.
    #[doc(alias = "RecvPacket")]
    pub fn recv_packet(&mut self) -> Result<(Vec<u8>, u8)> {
        self.listen()?;
        loop {
            if let Some(packet) = self.packets.pop_front() {
                return Ok(packet);
            }
            let (kind, _, body) = self.receive()?;
            if kind == PACKET {
                self.keep(&body)?;
            }
        }
    }

    /// Requests packets from now on, without waiting for one.
    pub fn listen(&mut self) -> Result<()> {
        if !self.listens {
            self.ask(LISTEN, &[&[1]])?;
            self.listens = true;
        }
        Ok(())
    }

    /// Packets that were lost because too many waited.
    pub fn lost_packets(&self) -> u64 {
        self.lost
    }

    fn call(&mut self, text: &str) -> Result<()> {
        match &mut self.batch {
            Some(calls) => {
                calls.push_str(text);
                calls.push('\n');
                Ok(())
            }
            None => self.ask(CALLS, &[text.as_bytes()]).map(drop),
        }
    }

    fn ask(&mut self, kind: u8, body: &[&[u8]]) -> Result<Vec<u8>> {
        self.tag = self.tag.wrapping_add(1);
        let length = HEAD_BYTES + body.iter().map(|part| part.len()).sum::<usize>();
        if length > MAX_MESSAGE_BYTES {
            return Err(Error::Refused {
                code: "message-length".to_owned(),
                message: format!(
                    "The request has {length} bytes, but must have at most {MAX_MESSAGE_BYTES}. Send less at once."
                ),
            });
        }
        let mut message = (length as u32).to_le_bytes().to_vec();
        message.push(kind);
        message.extend(self.tag.to_le_bytes());
        body.iter().for_each(|part| message.extend_from_slice(part));
        self.stream.write_all(&message)?;
        loop {
            let (kind, tag, body) = self.receive()?;
            match kind {
                PACKET => self.keep(&body)?,
                // An answer that a timeout has given up on.
                _ if tag != self.tag => {}
                DONE => return Ok(body),
                REFUSED => {
                    let said = String::from_utf8_lossy(&body);
                    let (code, message) = said.split_once('\n').ok_or_else(garbled)?;
                    let (code, message) = (code.to_owned(), message.to_owned());
                    return Err(Error::Refused { code, message });
                }
                _ => return Err(garbled()),
            }
        }
    }

    fn receive(&mut self) -> Result<(u8, u32, Vec<u8>)> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if !(HEAD_BYTES..=MAX_MESSAGE_BYTES).contains(&length) {
            return Err(garbled());
        }
        let mut message = vec![0; length];
        // Once a message has begun it comes whole: a timeout here would lose the place.
        let timeout = self.stream.read_timeout()?;
        self.stream.set_read_timeout(None)?;
        let read = self.stream.read_exact(&mut message);
        self.stream.set_read_timeout(timeout)?;
        read?;
        let tag = u32::from_le_bytes([message[1], message[2], message[3], message[4]]);
        Ok((message[0], tag, message.split_off(HEAD_BYTES)))
    }

    fn keep(&mut self, body: &[u8]) -> Result<()> {
        let (lost, rest) = body.split_first_chunk().ok_or_else(garbled)?;
        let (&port, packet) = rest.split_first().ok_or_else(garbled)?;
        self.lost = u64::from_le_bytes(*lost);
        if self.packets.len() == KEPT {
            self.packets.pop_front();
        }
        self.packets.push_back((packet.to_vec(), port));
        Ok(())
    }
}

fn quoted(text: Option<&str>) -> String {
    text.map_or("NULL".to_owned(), |text| format!("\"{text}\""))
}

fn garbled() -> Error {
    Error::Io(io::Error::new(io::ErrorKind::InvalidData, "the answer is none"))
}
