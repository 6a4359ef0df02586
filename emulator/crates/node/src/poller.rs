//! Waits for many descriptors with epoll; a [`Token`] identifies each.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// Which descriptor is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// The socket to the fabric.
    Fabric,
    /// Signals to this process.
    Signals,
    /// Messages about the interfaces.
    Links,
    /// The control socket of the port with this index.
    Control(u32),
    /// The socket of the workload's flow with this number.
    Flow(u32),
    /// The packet socket with this index.
    Frames(u32),
    /// The services' socket with this index.
    Services(u32),
    /// The listener for clients of services with this index.
    Listener(u32),
    /// The client of a service with this number.
    Client(u32),
    /// The listener for the process of the service with this index.
    Processes(u32),
    /// The process of the service with this index.
    Process(u32),
    /// The listener for programs that call the chip.
    ChipListener,
    /// The program with this number.
    ChipProgram(u32),
    /// Packets for programs from a chip in the kernel.
    ChipPackets,
}

impl Token {
    fn encode(self) -> u64 {
        let (kind, index) = match self {
            Token::Fabric => (0, 0),
            Token::Signals => (1, 0),
            Token::Links => (2, 0),
            Token::Control(index) => (3, index),
            Token::Flow(id) => (4, id),
            Token::Frames(index) => (5, index),
            Token::Services(index) => (6, index),
            Token::Listener(index) => (7, index),
            Token::Client(id) => (8, id),
            Token::Processes(index) => (9, index),
            Token::Process(index) => (10, index),
            Token::ChipListener => (11, 0),
            Token::ChipProgram(id) => (12, id),
            Token::ChipPackets => (13, 0),
        };
        kind << 32 | u64::from(index)
    }

    fn decode(data: u64) -> Option<Token> {
        let index = data as u32;
        match data >> 32 {
            0 => Some(Token::Fabric),
            1 => Some(Token::Signals),
            2 => Some(Token::Links),
            3 => Some(Token::Control(index)),
            4 => Some(Token::Flow(index)),
            5 => Some(Token::Frames(index)),
            6 => Some(Token::Services(index)),
            7 => Some(Token::Listener(index)),
            8 => Some(Token::Client(index)),
            9 => Some(Token::Processes(index)),
            10 => Some(Token::Process(index)),
            11 => Some(Token::ChipListener),
            12 => Some(Token::ChipProgram(index)),
            13 => Some(Token::ChipPackets),
            _ => None,
        }
    }
}

/// The events that a descriptor is polled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest(EpollFlags);

impl Interest {
    /// Data to read.
    pub const READ: Interest = Interest(EpollFlags::EPOLLIN);
    /// Space for writing.
    pub const WRITE: Interest = Interest(EpollFlags::EPOLLOUT);
    /// Data to read, or space for writing.
    pub const BOTH: Interest = Interest(EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT));
    /// Only the end of the connection.
    pub const NONE: Interest = Interest(EpollFlags::empty());
}

/// Maximum number of events per call.
const BATCH: usize = 64;

/// An epoll instance.
#[derive(Debug)]
pub struct Poller(Epoll);

impl Poller {
    /// Creates a poller without descriptors.
    pub fn new() -> nix::Result<Poller> {
        Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map(Poller)
    }

    /// Adds a descriptor, until it is closed.
    pub fn add(&self, fd: impl AsFd, token: Token, interest: Interest) -> nix::Result<()> {
        self.0.add(fd, EpollEvent::new(interest.0, token.encode()))
    }

    /// Changes the events that a descriptor is polled for.
    pub fn modify(&self, fd: impl AsFd, token: Token, interest: Interest) -> nix::Result<()> {
        self.0
            .modify(fd, &mut EpollEvent::new(interest.0, token.encode()))
    }

    /// Waits at most `timeout`, rounded up to milliseconds; returns the ready descriptors.
    pub fn wait(&self, timeout: Duration) -> nix::Result<Vec<Token>> {
        let millis = timeout.as_micros().div_ceil(1000).min(60_000) as u16;
        let mut events = [EpollEvent::empty(); BATCH];
        match self.0.wait(&mut events, EpollTimeout::from(millis)) {
            Ok(count) => Ok(events[..count]
                .iter()
                .filter_map(|event| Token::decode(event.data()))
                .collect()),
            Err(Errno::EINTR) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_comes_back_as_itself() {
        for token in [
            Token::Fabric,
            Token::Signals,
            Token::Links,
            Token::Control(3),
            Token::Flow(u32::MAX),
            Token::Services(2),
            Token::Listener(0),
            Token::Client(u32::MAX),
            Token::Processes(0),
            Token::Process(3),
            Token::ChipListener,
            Token::ChipProgram(5),
        ] {
            assert_eq!(Token::decode(token.encode()), Some(token));
        }
    }
}
