//! Routing schemes by name, and how their paths are chosen: each flow for itself, or flow after flow by load.

use cubeyard_routing::{Failures, MultipathRouter, Router, default_for, names_for, router};
use cubeyard_topology::{Finding, Topology, TopologySpec};

use crate::count::{Cancelled, LinkFlows, Progress, count_links};
use crate::flows::Flows;
use crate::greedy;
use crate::paths::Paths;

/// The scheme of this name, checked without making it; the family's own when there is none.
///
/// # Errors
/// As of [`Scheme::new`].
pub fn known(name: Option<&str>, spec: &TopologySpec) -> Result<&'static str, Vec<Finding>> {
    let name = name.unwrap_or_else(|| default_for(spec));
    let valid: Vec<&'static str> = names_for(spec).into_iter().map(|(name, _)| name).collect();
    let found = valid.iter().find(|&&one| one == name);
    found.copied().ok_or_else(|| unknown(name, spec.family(), &valid))
}

fn unknown(name: &str, family: &str, valid: &[&str]) -> Vec<Finding> {
    vec![
        Finding::error(
            "no-such-routing",
            "routing",
            format!("There is no routing scheme {name} for {family}."),
            format!("Use one of {}.", valid.join(", ")),
        )
        .with_value(name),
    ]
}

/// A routing scheme on one topology with one set of failures.
pub struct Scheme(Box<dyn Router>);

impl Scheme {
    /// The scheme of this name; the family's own when there is none.
    ///
    /// # Errors
    /// A finding that lists the schemes there are for this family.
    pub fn new(name: Option<&str>, topology: &Topology, failures: Failures) -> Result<Scheme, Vec<Finding>> {
        let name = name.unwrap_or_else(|| default_for(topology.spec()));
        router(name, topology, failures)
            .map(Scheme)
            .map_err(|error| unknown(name, error.family, &error.valid))
    }

    /// The scheme's name.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// The scheme as one that chooses by the load of the flows before.
    fn by_load(&self) -> Option<&dyn MultipathRouter> {
        self.0.multipath().filter(|_| self.0.name().ends_with("-greedy"))
    }

    /// The load of a workload on every directed link; `into_server` as in [`LinkFlows::enter`].
    pub fn count_links(
        &self,
        flows: &Flows,
        directed_links: usize,
        into_server: &[bool],
        seed: u64,
        progress: &Progress,
    ) -> Result<LinkFlows, Cancelled> {
        match self.by_load() {
            Some(router) => greedy::count_links(router, flows, directed_links, into_server, seed, progress),
            None => count_links(
                self.0.as_ref(),
                flows,
                directed_links,
                into_server,
                seed,
                progress,
            ),
        }
    }

    /// The path of every flow.
    pub fn route(
        &self,
        flows: &Flows,
        directed_links: usize,
        seed: u64,
        progress: &Progress,
    ) -> Result<Paths, Cancelled> {
        match self.by_load() {
            Some(router) => greedy::route(router, flows, directed_links, seed, progress),
            None => Paths::route(self.0.as_ref(), flows, seed, progress),
        }
    }
}

/// The schemes that serve a topology, its paper's own first: `[{name, summary}]`.
pub fn routings_json(spec: &TopologySpec) -> String {
    let schemes: Vec<_> = names_for(spec)
        .into_iter()
        .map(|(name, summary)| serde_json::json!({"name": name, "summary": summary}))
        .collect();
    serde_json::Value::Array(schemes).to_string()
}
