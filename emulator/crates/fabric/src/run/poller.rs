//! Waits for many things at once, each with a token that says which.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use crate::error::{During, FabricError, Result};

/// What something to wait for belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A call waits.
    Calls,
    /// A tick of the clock is due.
    Clock,
    /// A node wants to connect.
    Listener(usize),
    /// A node sent something, or reads again.
    Node(usize),
    /// A server's fast path told something.
    FastPath(usize),
    /// A server's links changed.
    Links(usize),
    /// A server's process ended.
    Process(usize),
}

const KINDS: u64 = 8;

impl Token {
    fn number(self) -> u64 {
        let (kind, index) = match self {
            Token::Calls => (0, 0),
            Token::Clock => (1, 0),
            Token::Listener(server) => (2, server),
            Token::Node(server) => (3, server),
            Token::FastPath(server) => (4, server),
            Token::Links(server) => (5, server),
            Token::Process(server) => (6, server),
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
            4 => Token::FastPath(server),
            5 => Token::Links(server),
            _ => Token::Process(server),
        }
    }
}

/// The set of things waited for. Closing one takes it out.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// Waits for nothing yet.
    pub fn new() -> Result<Poller> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).during(|| "making an epoll".to_owned())?;
        Ok(Poller { epoll })
    }

    /// Waits for something to be readable as well.
    pub fn add(&self, source: impl AsFd, token: Token) -> Result<()> {
        epoll::add(
            &self.epoll,
            source,
            EventData::new_u64(token.number()),
            EventFlags::IN,
        )
        .during(|| format!("waiting for {token:?}"))
    }

    /// Waits for room to write too, or no longer.
    pub fn want_room(&self, source: impl AsFd, token: Token, wanted: bool) -> Result<()> {
        let flags = if wanted {
            EventFlags::IN | EventFlags::OUT
        } else {
            EventFlags::IN
        };
        epoll::modify(&self.epoll, source, EventData::new_u64(token.number()), flags)
            .during(|| format!("waiting for {token:?}"))
    }

    /// Waits until something is there, and says what.
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
            Token::FastPath(7),
            Token::Links(1),
            Token::Process(9),
        ] {
            assert_eq!(Token::from_number(token.number()), token);
        }
    }
}
