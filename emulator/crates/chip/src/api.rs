//! The API as bytes on a socket `[ours]`: the messages of a program in a separate container.
//! Sans-IO.
//!
//! A message is a length (4 bytes, little-endian like all numbers), a kind (1 byte), a tag (4
//! bytes) and a body; the length counts the bytes after it. An answer has the tag of its request.
//! Requests are answered in order.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `CALLS` | calls as text (`text/`) | `DONE`: all of them are in effect, or `REFUSED` and none |
//! | `READ` | a register's name | its value, 8 bytes |
//! | `WRITE` | 8 bytes, then a register's name | |
//! | `SEND` | a port (1 byte), then a packet | 0 sent or 1 discarded, then why |
//! | `LISTEN` | 1 or 0 | starts or stops sending packets for the CPU as `PACKET` |
//! | `TABLES` | offset (4 bytes), form (1 byte) | whole length (4 bytes), then a part: 0 the program as text, 1 rows as JSON |
//! | `TRACE` | a port (1 byte), then a packet | the packet's trace as JSON; nothing is sent or counted |
//! | `TAKE` | | the waiting packets for the CPU: for each its length (2 bytes), port (1 byte), bytes |
//! | answer | body |
//! |---|---|
//! | `DONE` | as above |
//! | `REFUSED` | a code, a line feed, and a sentence |
//! | `PACKET` | packets lost so far (8 bytes), CPU port (1 byte), bytes; its tag is 0 |

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use serde_json::{Value, json};

use crate::action::RawAction;
use crate::driver::ServerSwitch;
use crate::entries::{Place, Table, hex};
use crate::flaw::Flaw;
use crate::overlay::Overlay;
use crate::pipeline::Verdict;
use crate::profile::PORTS;
use crate::program::Program;
use crate::registers::Register;
use crate::text::print;
use crate::trace::Trace;

/// Longest message, in bytes behind its length.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Bytes of a kind and a tag.
pub const HEAD_BYTES: usize = 5;
/// Longest packet that is traced: its steps hold it several times.
pub const MAX_TRACED_BYTES: usize = 1518;

/// The kinds of requests.
pub mod request {
    /// Carries out calls given as text.
    pub const CALLS: u8 = 1;
    /// Reads a register (`ReadRegister`).
    pub const READ: u8 = 2;
    /// Writes a register (`WriteRegister`).
    pub const WRITE: u8 = 3;
    /// Sends a packet (`SendPacket`).
    pub const SEND: u8 = 4;
    /// `RecvPacket`, from now on.
    pub const LISTEN: u8 = 5;
    /// Reads the tables.
    pub const TABLES: u8 = 6;
    /// A packet stepped through.
    pub const TRACE: u8 = 7;
    /// Takes the waiting packets.
    pub const TAKE: u8 = 8;
}

/// The kinds of answers.
pub mod answer {
    /// The request was carried out.
    pub const DONE: u8 = 128;
    /// The request was rejected.
    pub const REFUSED: u8 = 129;
    /// A packet for the CPU.
    pub const PACKET: u8 = 130;
}

/// The limits that the owner of a chip sets.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest packet that a port takes, Ethernet header included.
    pub packet_bytes: usize,
    /// Ports that there are, a bit each; the CPU's are always there.
    pub ports: u8,
    /// Longest part of tables in one answer.
    pub part_bytes: usize,
}

/// The tables and registers of a chip that programs call, in user space or in the kernel.
pub trait Tables {
    /// The program that packets go by.
    fn program(&self) -> &Program;
    /// The entries that calls have set.
    fn overlay(&self) -> &Overlay;
    /// Packets that each entry decided about; entries without any are left out.
    fn hits(&self) -> BTreeMap<Place, u64>;
    /// The value of a register.
    fn register(&self, register: Register) -> u64;
    /// `WriteRegister`. Errors: no such register, or none that can have this value.
    fn write_register(&mut self, name: &str, value: u64) -> Result<(), Flaw>;
    /// A text of calls, all of it or none. Errors: everything that is wrong; then nothing has
    /// changed.
    fn execute(&mut self, calls: &str) -> Result<(), Vec<Flaw>>;
    /// The trace of a packet, without sending it.
    fn trace(&self, port: u8, packet: &[u8]) -> Result<Trace, Flaw>;
    /// Packets for the CPU that were lost.
    fn lost_punts(&self) -> u64;
}

/// Sends packets for programs by a chip's ports.
pub trait Sends {
    /// Implements `SendPacket`. Packets that leave by external ports go to `out`, unless the chip
    /// sends them itself.
    fn send_packet(
        &mut self,
        packet: &[u8],
        port: u8,
        out: &mut dyn FnMut(u8, &[u8]),
    ) -> Result<Verdict, Flaw>;
}

impl Sends for ServerSwitch {
    fn send_packet(
        &mut self,
        packet: &[u8],
        port: u8,
        out: &mut dyn FnMut(u8, &[u8]),
    ) -> Result<Verdict, Flaw> {
        self.send_packet(packet, port, out)
    }
}

impl Tables for ServerSwitch {
    fn program(&self) -> &Program {
        self.chip().program()
    }

    fn overlay(&self) -> &Overlay {
        self.overlay()
    }

    fn hits(&self) -> BTreeMap<Place, u64> {
        self.chip().hits()
    }

    fn register(&self, register: Register) -> u64 {
        self.chip().read_register(register)
    }

    fn write_register(&mut self, name: &str, value: u64) -> Result<(), Flaw> {
        self.write_register(name, value)
    }

    fn execute(&mut self, calls: &str) -> Result<(), Vec<Flaw>> {
        self.execute(calls)
    }

    fn trace(&self, port: u8, packet: &[u8]) -> Result<Trace, Flaw> {
        self.chip().clone().trace(port, packet)
    }

    fn lost_punts(&self) -> u64 {
        self.lost_punts()
    }
}

/// Whether a request, a message without its length, is about the tables and registers alone:
/// neither sends nor receives.
pub fn is_about_tables(asked: &[u8]) -> bool {
    let kinds = [
        request::CALLS,
        request::READ,
        request::WRITE,
        request::TABLES,
        request::TRACE,
    ];
    asked.first().is_some_and(|kind| kinds.contains(kind))
}

/// Whether the answer to a request depends on how much waits at ports.
pub fn asks_for_queues(asked: &[u8]) -> bool {
    let name = asked.get(HEAD_BYTES..).unwrap_or_default();
    match asked.first() {
        Some(&request::READ) => name.starts_with(b"OUTPUT_QUEUE"),
        kind => kind == Some(&request::TABLES),
    }
}

/// A request, a message without its length, refused. Empty of one that is too short to have a tag.
pub fn refusal(asked: &[u8], flaw: &Flaw) -> Vec<u8> {
    let Some([_, tag @ ..]) = asked.first_chunk::<HEAD_BYTES>() else {
        return Vec::new();
    };
    message(
        answer::REFUSED,
        u32::from_le_bytes(*tag),
        &[said(flaw).as_bytes()],
    )
}

/// One program on the other side.
#[derive(Debug, Default)]
pub struct Session {
    listening: bool,
    tables: Vec<u8>,
    waiting: VecDeque<(u8, Vec<u8>)>,
}

/// The most packets that wait for a `TAKE` request.
const WAITING: usize = 64;

/// The result of a request.
#[derive(Debug)]
pub struct Answered {
    /// The answer, with its length.
    pub bytes: Vec<u8>,
    /// Its cost, in units of about a microsecond.
    pub cost: u32,
}

type Done = Result<Vec<u8>, Flaw>;

/// A message with its length.
pub fn message(kind: u8, tag: u32, body: &[&[u8]]) -> Vec<u8> {
    let length = HEAD_BYTES + body.iter().map(|part| part.len()).sum::<usize>();
    let mut bytes = Vec::with_capacity(4 + length);
    bytes.extend((length as u32).to_le_bytes());
    bytes.push(kind);
    bytes.extend(tag.to_le_bytes());
    body.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

/// A packet for the CPU as a message.
pub fn packet(lost: u64, port: u8, bytes: &[u8]) -> Vec<u8> {
    message(answer::PACKET, 0, &[&lost.to_le_bytes(), &[port], bytes])
}

/// Length of the first message in the received bytes, its own four bytes included; `None` if it is
/// not complete. Errors: the length is out of its limits.
pub fn next_message(bytes: &[u8]) -> Result<Option<usize>, Flaw> {
    let Some(length) = bytes.first_chunk() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*length) as usize;
    if !(HEAD_BYTES..=MAX_MESSAGE_BYTES).contains(&length) {
        let limit = format!("{HEAD_BYTES} to {MAX_MESSAGE_BYTES} bytes");
        return Err(Flaw::new(
            "message-length",
            "message",
            length,
            limit,
            "Send less at once.",
        ));
    }
    Ok((bytes.len() >= 4 + length).then_some(4 + length))
}

impl Session {
    /// Whether the program has requested packets for the CPU.
    pub fn listens(&self) -> bool {
        self.listening
    }

    /// Whether it has got a part of the tables, and not yet the last one.
    pub fn is_reading(&self) -> bool {
        !self.tables.is_empty()
    }

    /// Stores a packet for the CPU until a `TAKE` request. If too many wait, the oldest is lost.
    pub fn keep(&mut self, port: u8, bytes: &[u8]) {
        if self.waiting.len() == WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((port, bytes.to_vec()));
    }

    /// Carries out a request: a message without its length. Packets that leave by external ports go
    /// to `out`.
    pub fn handle(
        &mut self,
        request: &[u8],
        limits: &Limits,
        switch: &mut (impl Tables + Sends),
        out: &mut dyn FnMut(u8, &[u8]),
    ) -> Answered {
        let about_tables = self.handle_tables(request, limits, switch);
        about_tables.unwrap_or_else(|| self.handle_packets(request, limits, switch, out))
    }

    /// Carries out a request that is about tables or registers; `None` of another one.
    pub fn handle_tables(
        &mut self,
        request: &[u8],
        limits: &Limits,
        switch: &mut dyn Tables,
    ) -> Option<Answered> {
        let (head, body) = request.split_first_chunk::<HEAD_BYTES>()?;
        // Measured: a commit takes about 0.4 us an entry, a packet less than one.
        let whole = (switch.program().entries() / 2) as u32;
        let (done, cost) = match head[0] {
            request::CALLS => (calls(body, switch), 20 + whole + body.len() as u32 / 8),
            request::READ => (read(body, switch), 1),
            request::WRITE => (write(body, switch), 1),
            request::TABLES => (self.tables(body, limits, switch), 20 + whole),
            request::TRACE => (trace(body, switch), 200 + whole),
            _ => return None,
        };
        Some(answered(head, done, cost))
    }

    /// Carries out any other request. Packets that leave by external ports go to `out`, where the
    /// chip does not send them itself.
    pub fn handle_packets(
        &mut self,
        request: &[u8],
        limits: &Limits,
        switch: &mut dyn Sends,
        out: &mut dyn FnMut(u8, &[u8]),
    ) -> Answered {
        let Some((head, body)) = request.split_first_chunk::<HEAD_BYTES>() else {
            return Answered {
                bytes: Vec::new(),
                cost: 1,
            };
        };
        let (done, cost) = match head[0] {
            request::SEND => (send(body, limits, switch, out), 3 + body.len() as u32 / 512),
            request::LISTEN => (self.listen(body), 1),
            request::TAKE => (Ok(self.take(limits)), 5),
            other => {
                let limit = format!("{} to {}", request::CALLS, request::TAKE);
                (
                    Err(Flaw::new("request", "kind", other, limit, "Take one of these.")),
                    1,
                )
            }
        };
        answered(head, done, cost)
    }

    fn listen(&mut self, body: &[u8]) -> Done {
        self.listening = match body {
            [0] => false,
            [1] => true,
            _ => return Err(malformed("LISTEN", "one byte, 0 or 1")),
        };
        Ok(Vec::new())
    }

    fn tables(&mut self, body: &[u8], limits: &Limits, switch: &dyn Tables) -> Done {
        let (Some(offset), [_, _, _, _, form]) = (body.first_chunk(), body) else {
            return Err(malformed("TABLES", "an offset of 4 bytes and a form, 0 or 1"));
        };
        let offset = u32::from_le_bytes(*offset) as usize;
        if offset == 0 {
            self.tables = match form {
                0 => print(switch.program()).into_bytes(),
                1 => rows(switch).to_string().into_bytes(),
                _ => return Err(malformed("TABLES", "a form, 0 or 1")),
            };
        }
        let total = self.tables.len();
        let Some(rest) = self.tables.get(offset..) else {
            let limit = format!("at most {total}");
            return Err(Flaw::new("offset", "offset", offset, limit, "Begin again at 0."));
        };
        let part = &rest[..rest.len().min(limits.part_bytes)];
        let answer = [&(total as u32).to_le_bytes()[..], part].concat();
        if offset + part.len() == total {
            self.tables = Vec::new();
        }
        Ok(answer)
    }

    fn take(&mut self, limits: &Limits) -> Vec<u8> {
        let mut taken = Vec::new();
        while let Some((port, bytes)) = self.waiting.front() {
            if !taken.is_empty() && taken.len() + 3 + bytes.len() > limits.part_bytes {
                break;
            }
            taken.extend((bytes.len() as u16).to_le_bytes());
            taken.push(*port);
            taken.extend_from_slice(bytes);
            self.waiting.pop_front();
        }
        taken
    }
}

/// The result as an answer to a request with this head.
fn answered(head: &[u8; HEAD_BYTES], done: Done, cost: u32) -> Answered {
    let tag = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let bytes = match done {
        Ok(body) => message(answer::DONE, tag, &[&body]),
        Err(flaw) => message(answer::REFUSED, tag, &[said(&flaw).as_bytes()]),
    };
    Answered { bytes, cost }
}

/// The first flaw as an answer: its code, and a sentence with its place in the text.
fn said(flaw: &Flaw) -> String {
    let place = match flaw.line {
        0 => String::new(),
        line => format!("line {line}, column {}: ", flaw.column),
    };
    format!("{}\n{place}{} {}", flaw.code, flaw.message, flaw.hint)
}

fn malformed(what: &str, limit: &str) -> Flaw {
    Flaw::new(
        "malformed",
        what,
        "something else",
        limit,
        "See the table of requests.",
    )
}

fn utf8<'a>(field: &str, bytes: &'a [u8]) -> Result<&'a str, Flaw> {
    let wrong = |_| Flaw::new("utf8", field, "other bytes", "text in UTF-8", "Send it as text.");
    std::str::from_utf8(bytes).map_err(wrong)
}

fn calls(body: &[u8], switch: &mut dyn Tables) -> Done {
    let text = utf8("calls", body)?;
    let first = |flaws: Vec<Flaw>| {
        let nothing = || malformed("CALLS", "calls as text");
        flaws.into_iter().next().unwrap_or_else(nothing)
    };
    switch.execute(text).map(|()| Vec::new()).map_err(first)
}

fn read(body: &[u8], switch: &dyn Tables) -> Done {
    let register = Register::by_name(utf8("reg", body)?)?;
    Ok(switch.register(register).to_le_bytes().to_vec())
}

fn write(body: &[u8], switch: &mut dyn Tables) -> Done {
    let (value, name) = body
        .split_first_chunk()
        .ok_or_else(|| malformed("WRITE", "8 bytes and a register's name"))?;
    switch.write_register(utf8("reg", name)?, u64::from_le_bytes(*value))?;
    Ok(Vec::new())
}

fn send(body: &[u8], limits: &Limits, switch: &mut dyn Sends, out: &mut dyn FnMut(u8, &[u8])) -> Done {
    let (&port, packet) = body
        .split_first()
        .ok_or_else(|| malformed("SEND", "a port and a packet"))?;
    let there = limits.ports | 0xf0;
    if port >= PORTS || there >> port & 1 == 0 {
        let ports: Vec<String> = (0..PORTS)
            .filter(|port| there >> port & 1 == 1)
            .map(|p| p.to_string())
            .collect();
        let fix = "Ports 4 to 7 lead into the chip, the others straight out.";
        return Err(Flaw::new(
            "port-range",
            "oport",
            port,
            format!("one of {}", ports.join(", ")),
            fix,
        ));
    }
    if packet.len() < crate::frame::ETHERNET_BYTES || packet.len() > limits.packet_bytes {
        let limit = format!(
            "{} to {} bytes",
            crate::frame::ETHERNET_BYTES,
            limits.packet_bytes
        );
        let given = format!("{} bytes", packet.len());
        return Err(Flaw::new(
            "packet-length",
            "pkt",
            given,
            limit,
            "Begin it with the Ethernet header, and send at most a port's MTU.",
        ));
    }
    let mut most = |port: u8, bytes: &[u8]| {
        // The chip may have put a header on it.
        if bytes.len() <= limits.packet_bytes {
            out(port, bytes);
        }
    };
    Ok(match switch.send_packet(packet, port, &mut most)? {
        Verdict::Sent => vec![0],
        Verdict::Discarded(reason) => [&[1][..], reason.name().as_bytes()].concat(),
    })
}

fn trace(body: &[u8], switch: &dyn Tables) -> Done {
    let (&port, packet) = body
        .split_first()
        .ok_or_else(|| malformed("TRACE", "a port and a packet"))?;
    if packet.len() > MAX_TRACED_BYTES {
        let limit = format!("at most {MAX_TRACED_BYTES} bytes");
        let given = format!("{} bytes", packet.len());
        return Err(Flaw::new(
            "packet-long",
            "pkt",
            given,
            limit,
            "Give its headers alone.",
        ));
    }
    let trace = switch.trace(port, packet)?;
    Ok(json!(trace).to_string().into_bytes())
}

/// A row of a lookup table.
#[derive(Serialize)]
struct Row {
    table: &'static str,
    i: u32,
    iudlk: u8,
    value: String,
    mask: String,
    action: RawAction,
    hits: u64,
    /// Whether a call has set it.
    own: bool,
}

/// Everything in the tables:
/// `{udlks, registers, vifs: [{i, dmac, smac, oport, own}], entries: [{table, i, iudlk, value, mask, action, hits, own}], punts_lost}`.
fn rows(switch: &dyn Tables) -> Value {
    let (program, overlay, hits) = (switch.program(), switch.overlay(), switch.hits());
    let entries: Vec<Row> = Table::ALL
        .into_iter()
        .flat_map(|table| {
            let row = move |(&i, entry): (&u32, &crate::entries::Entry)| (Place { table, i }, entry.clone());
            program.table(table).iter().map(row).collect::<Vec<_>>()
        })
        .map(|(place, entry)| Row {
            table: place.table.name(),
            i: place.i,
            iudlk: entry.iudlk,
            value: hex(&entry.value),
            mask: hex(&entry.mask),
            action: RawAction::from(&entry.action),
            hits: hits.get(&place).copied().unwrap_or(0),
            own: overlay.has(place),
        })
        .collect();
    let mac = |mac: Option<crate::entries::Mac>| mac.map(|mac| mac.to_string());
    let vif = |(&i, vif): (&u32, &crate::entries::Vif)| {
        json!({"i": i, "dmac": mac(vif.dmac), "smac": mac(vif.smac), "oport": vif.port,
            "own": overlay.has_vif(i)})
    };
    let udlk = |i: u8| {
        program
            .udlk(i)
            .map(|udlk| json!({"i": i, "fields": udlk.to_string(), "bytes": udlk.len()}))
    };
    let registers: serde_json::Map<String, Value> = Register::all()
        .into_iter()
        .map(|register| (register.to_string(), json!(switch.register(register))))
        .collect();
    json!({
        "profile": program.profile().name(),
        "udlks": (1..=2).filter_map(udlk).collect::<Vec<_>>(),
        "vifs": program.vifs().iter().map(vif).collect::<Vec<_>>(),
        "entries": entries,
        "registers": registers,
        "punts_lost": switch.lost_punts(),
    })
}
