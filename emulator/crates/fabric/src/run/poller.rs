//! Waits for many sources at the same time. A token identifies each source.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use crate::error::{During, FabricError, Result};

/// A source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// Requests of callers are waiting.
    Calls,
    /// The clock of ticks.
    Clock,
    /// A connection of a server's node.
    Listener(usize),
    /// A message of a server's node, or free space for one to it.
    Node(usize),
    /// A notice of a server's programs.
    Programs(usize),
    /// A change of a server's links.
    Links(usize),
    /// The process of a server has ended.
    Process(usize),
    /// A change of the links of a router, by namespace.
    RouterLinks(usize),
    /// A round of hellos is due.
    Hellos,
    /// An answer about queues has reached a server.
    Answers(usize),
    /// An update of limited ports is due.
    Congestion,
    /// An event of a server's MPTCP.
    Subflows(usize),
    /// A frame for the CPU of a chip, by namespace.
    Cpu(usize),
}

const KINDS: u64 = 16;

impl Token {
    fn number(self) -> u64 {
        let (kind, index) = match self {
            Token::Calls => (0, 0),
            Token::Clock => (1, 0),
            Token::Listener(server) => (2, server),
            Token::Node(server) => (3, server),
            Token::Programs(server) => (4, server),
            Token::Links(server) => (5, server),
            Token::Process(server) => (6, server),
            Token::RouterLinks(room) => (7, room),
            Token::Hellos => (8, 0),
            Token::Answers(server) => (9, server),
            Token::Congestion => (10, 0),
            Token::Subflows(server) => (11, server),
            Token::Cpu(room) => (12, room),
        };
        index as u64 * KINDS + kind
    }

    fn from_number(number: u64) -> Token {
        let server = (number / KINDS) as usize;
        match number % KINDS {
            0 => Token::Calls,
            1 => Token::Clock,
            2 => Token::Listener(server),
            3 => Token::Node(server),
            4 => Token::Programs(server),
            5 => Token::Links(server),
            7 => Token::RouterLinks(server),
            8 => Token::Hellos,
            9 => Token::Answers(server),
            10 => Token::Congestion,
            11 => Token::Subflows(server),
            12 => Token::Cpu(server),
            _ => Token::Process(server),
        }
    }
}

/// The set of sources. A source that is closed is removed.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// Creates a poller without sources.
    pub fn new() -> Result<Poller> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).during(|| "making an epoll".to_owned())?;
        Ok(Poller { epoll })
    }

    /// Adds a source, and waits until it is readable.
    pub fn add(&self, source: impl AsFd, token: Token) -> Result<()> {
        epoll::add(
            &self.epoll,
            source,
            EventData::new_u64(token.number()),
            EventFlags::IN,
        )
        .during(|| format!("waiting for {token:?}"))
    }

    /// Starts or stops to wait for free space for writing.
    pub fn want_room(&self, source: impl AsFd, token: Token, wanted: bool) -> Result<()> {
        let flags = if wanted {
            EventFlags::IN | EventFlags::OUT
        } else {
            EventFlags::IN
        };
        epoll::modify(&self.epoll, source, EventData::new_u64(token.number()), flags)
            .during(|| format!("waiting for {token:?}"))
    }

    /// Waits until at least one source is ready; returns all that are.
    pub fn wait(&self) -> Result<Vec<Token>> {
        let mut events = Vec::with_capacity(64);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) => Ok(events
                .iter()
                .map(|event| Token::from_number(event.data.u64()))
                .collect()),
            Err(Errno::INTR) => Ok(Vec::new()),
            Err(cause) => Err(FabricError::system("waiting", cause)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_back_from_its_number() {
        for token in [
            Token::Calls,
            Token::Clock,
            Token::Listener(0),
            Token::Node(1023),
            Token::Programs(7),
            Token::Links(1),
            Token::Process(9),
            Token::RouterLinks(40),
            Token::Hellos,
            Token::Answers(1),
            Token::Congestion,
            Token::Subflows(3),
        ] {
            assert_eq!(Token::from_number(token.number()), token);
        }
    }
}
