//! What servers need that can be made before they are there: their programs and maps, while their containers start.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::assembly;
use crate::error::Result;
use crate::fast_path::FastPath;
use crate::network::{Checked, Dataplane};
use crate::parallel;
use crate::routes::Routes;

/// The fast path of every server of this host, each for whoever takes it first. Having the kernel check one takes 3 ms. `[measured]`
pub enum Ahead {
    /// A thread is at it.
    Making(JoinHandle<Result<BTreeMap<usize, FastPath>>>),
    /// Those that nobody has taken yet, by server.
    Made(BTreeMap<usize, FastPath>),
}

impl Ahead {
    /// Begins to make them, where the network's dataplane is the kernel.
    pub fn begin(network: &Arc<Checked>) -> Ahead {
        if network.network.dataplane != Dataplane::Kernel {
            return Ahead::Made(BTreeMap::new());
        }
        let network = network.clone();
        Ahead::Making(std::thread::spawn(move || {
            let routes = Routes::new(&network);
            let made = parallel::for_each(network.servers_here().collect(), |server| {
                assembly::make_fast_path(&network, &routes, server).map(|fast_path| (server, fast_path))
            })?;
            Ok(made.into_iter().collect())
        }))
    }

    /// A server's, once all are made; `None` where it was taken before, or could not be made.
    pub fn take(&mut self, server: usize) -> Option<FastPath> {
        if let Ahead::Making(_) = self
            && let Ahead::Making(thread) = std::mem::replace(self, Ahead::Made(BTreeMap::new()))
        {
            // Whoever needs one that failed makes it again, and is told why it cannot be.
            *self = Ahead::Made(thread.join().ok().and_then(Result::ok).unwrap_or_default());
        }
        match self {
            Ahead::Making(_) => None,
            Ahead::Made(paths) => paths.remove(&server),
        }
    }
}
