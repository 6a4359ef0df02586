//! Loads the programs and maps of servers in advance, while the servers' containers start.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::Programs;
use crate::error::Result;
use crate::network::Network;
use crate::parallel;
use crate::servers::maps;

/// The programs of all servers of this host until they are taken. The kernel takes 3 ms to verify
/// one, and 0.4 s on a busy machine for a switching chip. `[measured]`
pub enum Preloaded {
    /// A thread is loading them.
    Loading(JoinHandle<Result<BTreeMap<usize, Programs>>>),
    /// Loaded programs that are still unused, by server.
    Loaded(BTreeMap<usize, Programs>),
}

impl Preloaded {
    /// Starts loading if the kernel forwards packets.
    pub fn start(network: &Arc<Network>) -> Preloaded {
        if network.behaviour.object().is_none() {
            return Preloaded::Loaded(BTreeMap::new());
        }
        let network = network.clone();
        Preloaded::Loading(std::thread::spawn(move || {
            let loaded = parallel::for_each(network.servers_here().collect(), |server| {
                maps::load(&network, server).map(|programs| (server, programs))
            })?;
            let loaded = loaded.into_iter();
            Ok(loaded
                .filter_map(|(server, programs)| Some((server, programs?)))
                .collect())
        }))
    }

    /// Waits for all programs and returns a server's; `None` if they were taken before or could not
    /// be loaded.
    pub fn take(&mut self, server: usize) -> Option<Programs> {
        if let Preloaded::Loading(_) = self
            && let Preloaded::Loading(thread) = std::mem::replace(self, Preloaded::Loaded(BTreeMap::new()))
        {
            // If loading failed, the caller loads the programs again and then gets the error.
            *self = Preloaded::Loaded(thread.join().ok().and_then(Result::ok).unwrap_or_default());
        }
        match self {
            Preloaded::Loading(_) => None,
            Preloaded::Loaded(paths) => paths.remove(&server),
        }
    }
}
