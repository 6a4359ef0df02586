//! The program of a server's chip: the paper's, or one that a user sets for all servers of a run.
//! Both are generated again from the server's neighbours when one of them changes.
//! `[serverswitch §5.1]`

use cubeyard_chip::bcube::{Neighbour, program_of};
use cubeyard_chip::text::{Server, Source};
use cubeyard_chip::{Flaw, Mac, Program};

use super::nha::Nha;
use super::state::State;
use crate::chip_tables::refused;
use crate::configuration::Configuration;
use crate::tables::TableError;

/// The source of a program that fits any server.
#[derive(Clone, Debug, Default)]
pub struct ChipProgram(Option<Source>);

impl ChipProgram {
    /// Parses a program. Errors: the first error in its text, as a message.
    pub fn of_text(text: &str) -> Result<ChipProgram, TableError> {
        Source::parse(text)
            .map(|source| ChipProgram(Some(source)))
            .map_err(refused)
    }

    /// Generates the program for a server's current neighbours. O(neighbours), or the steps of the
    /// user's program.
    pub(super) fn of(&self, state: &State) -> Result<Program, TableError> {
        let server = server(state);
        match &self.0 {
            None => program_of(server.address, &server.neighbours).map_err(|flaw| refused(vec![flaw])),
            Some(source) => source.program(Some(&server)).map_err(refused),
        }
    }
}

/// The errors in a user's program for a server, for the kernel.
pub(super) fn check_in_kernel(configuration: &Configuration, text: &str) -> Result<(), Vec<Flaw>> {
    check(configuration, text, true)
}

/// The errors in a user's program for a server, for user space.
pub(super) fn check_in_user_space(configuration: &Configuration, text: &str) -> Result<(), Vec<Flaw>> {
    check(configuration, text, false)
}

fn check(configuration: &Configuration, text: &str, in_kernel: bool) -> Result<(), Vec<Flaw>> {
    let state = State::of(configuration).map_err(|error| {
        let fix = "Take the neighbours from the topology.";
        vec![Flaw::new("place", error.field, error.value, error.limit, fix)]
    })?;
    Source::parse(text)?.check_for([server(&state)], in_kernel)
}

fn server(state: &State) -> Server {
    let known = (0..=u8::MAX)
        .zip(state.nst.iter())
        .filter(|(_, next)| next.ifindex != 0);
    let neighbour = |(hop, next): (u8, &super::tables::NextHop)| Neighbour {
        hop: Nha(hop).0,
        port: next.port,
        own_mac: Mac(next.own_mac),
        next_mac: Mac(next.next_mac),
        alive: next.up != 0,
    };
    Server {
        address: state.own_ip(),
        neighbours: known.map(neighbour).collect(),
    }
}
