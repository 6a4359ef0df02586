//! Installs the routes that a run's topology and the state of its links require.

use std::collections::BTreeSet;

use super::state::RunState;
use crate::error::Result;
use crate::hellos::Hellos;
use crate::netlink::{gone_already, no_excuse};

impl RunState {
    /// Computes the tables of routers and servers, or of chips, and installs the differences. The
    /// kernel may refuse a request because a container has just exited; then the next tick repeats
    /// everything.
    pub fn bring_routes(&mut self) -> Result<()> {
        self.bring_chips()?;
        let Some(routing) = &self.network.routing else {
            return Ok(());
        };
        let servers = self.kernels.servers.iter().enumerate();
        let absent: BTreeSet<usize> = servers
            .filter(|(_, kernel)| kernel.is_none())
            .map(|(at, _)| at)
            .collect();
        let silent = self.hellos.iter().flat_map(Hellos::dead_links);
        let down: BTreeSet<usize> = self.active_faults.links_down().chain(silent).collect();
        let missing = down.len() + absent.len();
        let failures = routing.failures(&self.network, down.into_iter(), absent.iter().copied());
        let tables = match &self.balancing {
            Some(balancing) => {
                balancing.tables(|weights, detours| routing.tables_by_load(&failures, weights, detours))
            }
            None => routing.tables(&failures),
        };
        let Some(tables) = tables else {
            return Ok(());
        };
        let change = self.routes.change(&self.network, &tables, &absent);
        let put = self.kernels.run(change.put, no_excuse);
        let done = put.and_then(|()| self.kernels.run(change.remove, gone_already));
        self.routes.is_due = done.is_err();
        if done.is_err() {
            self.routes.lose_all();
        }
        self.routes.set_tables(tables, missing);
        done
    }

    /// Clears the stored routes of a server whose namespace and links were removed or created
    /// again.
    pub fn forget_routes_of(&mut self, server: usize) {
        self.routes.forget(server);
        for port in &self.network.ports[server] {
            self.routes.lose(&self.network, port.link);
        }
    }
}
