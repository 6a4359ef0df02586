//! Values of a server that answers requests, for real clients of memcached. They exist as long as
//! the workload.
//!
//! Measured requests do not use them: requests and responses have sizes, but no contents.

use std::io;
use std::net::Ipv4Addr;

use cubeyard_dataplane::key_value::alone::KeyValues;

use crate::clients::Clients;
use crate::poller::Poller;

/// The values and their clients.
#[derive(Debug)]
pub struct AskedValues {
    values: KeyValues,
    clients: Clients,
}

impl AskedValues {
    /// Listens at the server's address. Errors name the address.
    pub fn open(address: Ipv4Addr, poller: &Poller) -> io::Result<AskedValues> {
        let values = KeyValues::default();
        let clients = Clients::open(poller, &values, address)?;
        Ok(AskedValues { values, clients })
    }

    /// Accepts connecting clients.
    pub fn on_knock(&mut self, index: usize, poller: &Poller) {
        self.clients.on_knock(index, poller);
    }

    /// Handles data of a client, or free space for answers to it.
    pub fn on_ready(&mut self, id: u32, poller: &Poller) {
        self.clients.on_ready(id, &mut self.values, poller);
        self.clients.answer(&mut self.values, poller);
    }
}
