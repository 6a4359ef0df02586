//! The socket on which users' programs call the server's chip `[serverswitch §3.3.2]`: `chip.sock`
//! in the folder of the fabric's socket. Programs with access to it can set this server's tables
//! and send by its ports, and nothing else. Their total cost is limited.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use cubeyard_chip::api::{self, Answered, Limits, Session};
use cubeyard_dataplane::configuration::Configuration;
use cubeyard_dataplane::frame::ETHERNET_BYTES;
use cubeyard_dataplane::protocol::Time;
use cubeyard_messages::limits::CHIP_PART_BYTES;

use crate::clock::now;
use crate::poller::{Interest, Poller, Token};

/// Maximum number of connected programs; further connections are closed.
const MOST_PROGRAMS: usize = 16;
/// Limit for unread answers and packets of a program. Above it, the program's requests wait, and
/// packets for it are dropped.
const SLOW_BYTES: usize = 256 * 1024;
/// Maximum number of bytes per read.
const READ_BYTES: usize = 16 * 1024;
/// Time that each unit of cost takes from the programs' share. A unit is about a microsecond, so
/// programs get a tenth of a core.
const NANOS_PER_COST: u64 = 10_000;
/// Time by which programs may temporarily exceed their share.
const BURST: Duration = Duration::from_millis(200);

/// A server's chip, in the kernel or in this process.
pub trait ServerChip {
    /// Carries out a request, given without its length prefix. Returns `None` if the answer comes
    /// later ([`ChipServer::on_called`]).
    fn call(
        &mut self,
        asker: u32,
        session: &mut Session,
        request: &[u8],
        limits: &Limits,
    ) -> Option<Answered>;

    /// The next packet for users' programs, with the CPU port at which it arrived.
    fn next_punt(&mut self) -> Option<(u8, Vec<u8>)>;

    /// Number of lost packets: those for users' programs that were lost before they arrived here,
    /// and those of programs that were lost on their way out.
    fn lost_punts(&mut self) -> u64;
}

/// A connected program.
#[derive(Debug)]
struct Program {
    stream: UnixStream,
    session: Session,
    input: Vec<u8>,
    unsent: Vec<u8>,
    /// Whether a request is still unanswered; then the next one waits.
    waits: bool,
    /// Packets dropped because the program reads too slowly.
    lost: u64,
    /// Events that the poller waits for.
    interest: Interest,
}

/// The server for all programs that call the chip.
#[derive(Debug)]
pub struct ChipServer {
    listener: UnixListener,
    programs: BTreeMap<u32, Program>,
    latest: u32,
    /// Session of the fabric, which sends requests of other callers.
    fabric: Session,
    limits: Limits,
    /// When the time of all requests so far is used up at the programs' share.
    due: Time,
}

/// What to do next with a program's connection.
#[derive(PartialEq, Eq)]
enum Then {
    Stays,
    Goes,
}

impl ChipServer {
    /// Listens at the socket that the fabric has handed over. A pod's node gets no socket: if the
    /// fabric's is `@NAME`, it listens at `@NAME-chip` in its network namespace. Errors: a sentence
    /// for the user.
    pub fn open(
        handed: Option<OwnedFd>,
        fabric: &Path,
        configuration: &Configuration,
        poller: &Poller,
    ) -> Result<ChipServer, String> {
        let listener = match (handed, fabric.as_os_str().as_bytes().strip_prefix(b"@")) {
            (Some(listener), _) => Ok(UnixListener::from(listener)),
            (None, Some(name)) => SocketAddr::from_abstract_name([name, b"-chip"].concat())
                .and_then(|address| UnixListener::bind_addr(&address)),
            (None, None) => Err(io::Error::other("the fabric has handed none over")),
        };
        let opened = listener.and_then(|listener| {
            listener.set_nonblocking(true)?;
            poller
                .add(&listener, Token::ChipListener, Interest::READ)
                .map_err(io::Error::from)?;
            Ok(listener)
        });
        let listener = opened.map_err(|error| format!("the socket of the chip: {error}"))?;
        let ports = configuration.ports.iter();
        Ok(ChipServer {
            listener,
            programs: BTreeMap::new(),
            latest: 0,
            fabric: Session::default(),
            limits: Limits {
                packet_bytes: configuration.mtu as usize + ETHERNET_BYTES,
                ports: ports.fold(0, |set, port| {
                    set | 1_u8.checked_shl(port.port.into()).unwrap_or(0)
                }),
                part_bytes: CHIP_PART_BYTES,
            },
            due: Time::ZERO,
        })
    }

    /// When waiting programs may continue; `None` if none waits.
    pub fn next_timeout(&self) -> Option<Time> {
        self.is_ahead(now()).then(|| self.due - BURST)
    }

    fn is_ahead(&self, now: Time) -> bool {
        self.due > now + BURST
    }

    /// Accepts a connecting program.
    pub fn on_knock(&mut self, poller: &Poller) {
        while let Ok((stream, _)) = self.listener.accept() {
            let id = self.latest.wrapping_add(1);
            let fits = self.programs.len() < MOST_PROGRAMS && !self.programs.contains_key(&id);
            let added = fits
                && stream.set_nonblocking(true).is_ok()
                && poller
                    .add(&stream, Token::ChipProgram(id), Interest::READ)
                    .is_ok();
            if !added {
                continue;
            }
            self.latest = id;
            let program = Program {
                stream,
                session: Session::default(),
                input: Vec::new(),
                unsent: Vec::new(),
                waits: false,
                lost: 0,
                interest: Interest::READ,
            };
            self.programs.insert(id, program);
        }
    }

    /// Handles an event of a program's connection: data, free space, or its end.
    pub fn on_ready(&mut self, id: u32, chip: &mut dyn ServerChip, poller: &Poller) {
        let Some(program) = self.programs.get_mut(&id) else {
            return;
        };
        // Without interest in other events, an event can only be the end of the connection.
        let gone = program.interest == Interest::NONE;
        if gone || program.read() == Then::Goes || self.work(id, chip) == Then::Goes {
            self.programs.remove(&id);
            return;
        }
        self.pass_on(chip, poller);
        self.wait_for(id, poller);
    }

    /// Handles requests that were waiting for the programs' share of time.
    pub fn on_timeout(&mut self, chip: &mut dyn ServerChip, poller: &Poller) {
        if self.programs.is_empty() || self.is_ahead(now()) {
            return;
        }
        let waiting = self.programs.iter().filter(|(_, program)| program.has_request());
        let ids: Vec<u32> = waiting.map(|(&id, _)| id).collect();
        for id in ids {
            if self.work(id, chip) == Then::Goes {
                self.programs.remove(&id);
            } else {
                self.wait_for(id, poller);
            }
        }
        self.pass_on(chip, poller);
    }

    /// Handles a request of the fabric; returns the answer without its length prefix.
    pub fn on_fabric(&mut self, request: &[u8], chip: &mut dyn ServerChip, poller: &Poller) -> Vec<u8> {
        // The fabric is the caller, so requests that the chip would pass to the fabric need not be
        // sent.
        let answered = chip.call(0, &mut self.fabric, request, &self.limits);
        self.pass_on(chip, poller);
        let bytes = answered.map_or_else(Vec::new, |answered| answered.bytes);
        bytes.get(4..).unwrap_or_default().to_vec()
    }

    /// Handles a late answer to a request, with its cost. Drops it if the program has disconnected.
    pub fn on_called(
        &mut self,
        id: u32,
        cost: u32,
        answer: &[u8],
        chip: &mut dyn ServerChip,
        poller: &Poller,
    ) {
        self.charge(cost);
        let Some(program) = self.programs.get_mut(&id).filter(|program| program.waits) else {
            return;
        };
        program.waits = false;
        program.unsent.extend(answer);
        if self.work(id, chip) == Then::Goes {
            self.programs.remove(&id);
            return;
        }
        self.pass_on(chip, poller);
        self.wait_for(id, poller);
    }

    /// Passes packets for the CPU to all subscribed programs.
    pub fn pass_on(&mut self, chip: &mut dyn ServerChip, poller: &Poller) {
        let mut notified = Vec::new();
        while let Some((port, packet)) = chip.next_punt() {
            self.fabric.keep(port, &packet);
            for (&id, program) in self
                .programs
                .iter_mut()
                .filter(|(_, program)| program.session.listens())
            {
                if program.unsent.len() >= SLOW_BYTES {
                    program.lost += 1;
                    continue;
                }
                let lost = program.lost + chip.lost_punts();
                program.unsent.extend(api::packet(lost, port, &packet));
                notified.push(id);
            }
        }
        notified.sort_unstable();
        notified.dedup();
        for id in notified {
            let flushed = self.programs.get_mut(&id).map(Program::flush);
            if flushed == Some(Then::Goes) {
                self.programs.remove(&id);
            } else {
                self.wait_for(id, poller);
            }
        }
    }

    /// Answers received requests until the programs' share of time is used up, or the buffer is
    /// full of unread answers.
    fn work(&mut self, id: u32, chip: &mut dyn ServerChip) -> Then {
        loop {
            let (ahead, Some(program)) = (self.is_ahead(now()), self.programs.get_mut(&id)) else {
                return Then::Goes;
            };
            if program.flush() == Then::Goes {
                return Then::Goes;
            }
            let length = match api::next_message(&program.input) {
                Ok(Some(length)) if !ahead && !program.waits && program.unsent.len() < SLOW_BYTES => length,
                Ok(_) => return Then::Stays,
                Err(_) => return Then::Goes,
            };
            let request: Vec<u8> = program.input.drain(..length).collect();
            let Some(answered) = chip.call(id, &mut program.session, &request[4..], &self.limits) else {
                program.waits = true;
                return Then::Stays;
            };
            program.unsent.extend(answered.bytes);
            self.charge(answered.cost);
        }
    }

    fn charge(&mut self, cost: u32) {
        self.due = self.due.max(now()) + Duration::from_nanos(u64::from(cost) * NANOS_PER_COST);
    }

    fn wait_for(&mut self, id: u32, poller: &Poller) {
        let Some(program) = self.programs.get_mut(&id) else {
            return;
        };
        program.interest = match (!program.has_request(), !program.unsent.is_empty()) {
            (true, true) => Interest::BOTH,
            (true, false) => Interest::READ,
            (false, true) => Interest::WRITE,
            (false, false) => Interest::NONE,
        };
        // The connection is registered, so this cannot fail.
        let _ = poller.modify(&program.stream, Token::ChipProgram(id), program.interest);
    }
}

impl Program {
    /// Whether a complete request is waiting.
    fn has_request(&self) -> bool {
        matches!(api::next_message(&self.input), Ok(Some(_)))
    }

    /// Reads once, unless a complete request is waiting already.
    fn read(&mut self) -> Then {
        if self.has_request() {
            return Then::Stays;
        }
        let mut buffer = [0; READ_BYTES];
        match self.stream.read(&mut buffer) {
            Ok(0) => Then::Goes,
            Ok(length) => {
                self.input.extend(&buffer[..length]);
                Then::Stays
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Then::Stays
            }
            Err(_) => Then::Goes,
        }
    }

    fn flush(&mut self) -> Then {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match self.stream.write(&self.unsent[sent..]) {
                Ok(length) => sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Then::Goes,
            }
        }
        self.unsent.drain(..sent);
        Then::Stays
    }
}
