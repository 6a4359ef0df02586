//! The requirements of memcached's commands on a store: reading values, changing a value, or
//! neither.

use super::text::Command;
use super::{Change, Deed, FOR_EVER};

/// The requirement of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Read the values of keys.
    Values {
        /// The keys to read.
        keys: Vec<Vec<u8>>,
        /// Whether versions are wanted.
        versions: bool,
    },
    /// Change the value of one key.
    Change {
        /// The change to apply.
        change: Change,
        /// Whether no answer is wanted.
        quiet: bool,
    },
    /// Nothing: the answer is known without the store; `None` if the client expects none.
    Said(Option<Vec<u8>>),
    /// The connection must be closed.
    End,
}

impl Command {
    /// The requirement of the command on a store with this number of values and bytes.
    pub fn asked(self, (count, bytes): (usize, usize)) -> Asked {
        let (change, quiet) = match self {
            Command::Get { keys, versions } => return Asked::Values { keys, versions },
            Command::Quit => return Asked::End,
            Command::Version => {
                // Clients interpret this as memcached's version; libmemcached refuses versions that
                // begin with 0.
                let text = concat!("VERSION 1.4.8-cubeyard-", env!("CARGO_PKG_VERSION"), "\r\n");
                return Asked::Said(Some(text.into()));
            }
            Command::Stats => {
                let text = format!("STAT curr_items {count}\r\nSTAT bytes {bytes}\r\nEND\r\n");
                return Asked::Said(Some(text.into_bytes()));
            }
            Command::Verbosity { quiet } => return Asked::Said((!quiet).then(|| b"OK\r\n".to_vec())),
            Command::Write {
                how,
                key,
                flags,
                lives_millis,
                version,
                data,
                quiet,
            } => {
                let change = Change {
                    value: data,
                    flags,
                    lives_millis: lives_millis.unwrap_or(FOR_EVER),
                    version,
                    ..Change::new(Deed::Write(how), key)
                };
                (change, quiet)
            }
            Command::Touch {
                key,
                lives_millis,
                quiet,
            } => {
                let change = Change {
                    lives_millis: lives_millis.unwrap_or(FOR_EVER),
                    ..Change::new(Deed::Touch, key)
                };
                (change, quiet)
            }
            Command::Adjust { key, down, by, quiet } => {
                let change = Change {
                    value: by.to_string().into_bytes(),
                    ..Change::new(Deed::Adjust(down), key)
                };
                (change, quiet)
            }
            Command::Delete { key, quiet } => (Change::new(Deed::Delete, key), quiet),
        };
        Asked::Change { change, quiet }
    }
}
