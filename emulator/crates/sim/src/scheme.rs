//! Routing schemes by name, and their choice of paths: each flow independently, flow after flow by
//! load, or with weights that controllers set by the total load.

use cubeyard_routing::{
    Failures, MultipathRouter, PathChoice, Router, default_for, names_for, router, scheme,
};
use cubeyard_topology::{Finding, Topology, TopologySpec};

use crate::controllers::Controllers;
use crate::count::{Cancelled, LinkFlows, Progress, count_links, count_links_while};
use crate::flows::Flows;
use crate::greedy;
use crate::paths::Paths;
use crate::widest::Widest;

/// The scheme of this name, checked without making it; the family's scheme if none is given.
///
/// # Errors
/// As of [`Scheme::new`].
pub fn known(name: Option<&str>, spec: &TopologySpec) -> Result<&'static str, Vec<Finding>> {
    let name = name.unwrap_or_else(|| default_for(spec));
    let valid: Vec<&'static str> = names_for(spec).into_iter().map(|(name, _)| name).collect();
    let found = valid.iter().find(|&&item| item == name);
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
pub struct Scheme<'a> {
    router: Box<dyn Router>,
    choice: PathChoice,
    /// By directed link, in any one unit.
    capacity: Vec<f64>,
    /// The controllers that set its weights and detours by the flows' load, for schemes that have
    /// them.
    controllers: Option<Controllers<'a>>,
}

impl<'a> Scheme<'a> {
    /// The scheme of this name; the family's scheme if none is given. Links have the topology's
    /// rates.
    ///
    /// # Errors
    /// A finding that lists the schemes there are for this family.
    pub fn new(
        name: Option<&str>,
        topology: &'a Topology,
        failures: Failures,
    ) -> Result<Scheme<'a>, Vec<Finding>> {
        let links = topology.links();
        let rates: Vec<f64> = (0..links.len() * 2)
            .map(|directed| links.rate_bits_per_sec(directed / 2))
            .collect();
        Scheme::at_rates(name, topology, failures, rates)
    }

    /// The same with a capacity for every directed link, in any one unit: schemes that follow the
    /// load or probe their paths use it.
    ///
    /// # Errors
    /// As of [`Scheme::new`].
    pub fn at_rates(
        name: Option<&str>,
        topology: &'a Topology,
        failures: Failures,
        capacity: Vec<f64>,
    ) -> Result<Scheme<'a>, Vec<Finding>> {
        let name = known(name, topology.spec())?;
        let choice = scheme(name, topology.spec()).map_or(PathChoice::Router, |scheme| scheme.choice);
        let make = |name: &str, failures: Failures| {
            router(name, topology, failures).map_err(|error| unknown(name, error.family, &error.valid))
        };
        let (router, controllers): (Box<dyn Router>, _) = match choice {
            PathChoice::Router | PathChoice::Load => (make(name, failures)?, None),
            PathChoice::Probes { paths } => {
                let drawn = make(name, failures.clone())?;
                let links_differ = capacity.windows(2).any(|pair| pair[0] != pair[1]);
                let router: Box<dyn Router> = if links_differ {
                    Box::new(Widest::new(drawn, make(paths, failures)?, &capacity))
                } else {
                    drawn
                };
                (router, None)
            }
            PathChoice::Weights | PathChoice::Detours => (
                make(name, failures.clone())?,
                Controllers::new(topology, failures, &capacity),
            ),
        };
        Ok(Scheme {
            router,
            choice,
            capacity,
            controllers,
        })
    }

    /// The name of the scheme.
    pub fn name(&self) -> &'static str {
        self.router.name()
    }

    /// The scheme as one that chooses by the load of the flows before.
    fn by_load(&self) -> Option<&dyn MultipathRouter> {
        match self.choice {
            PathChoice::Load => self.router.multipath(),
            PathChoice::Router | PathChoice::Probes { .. } | PathChoice::Weights | PathChoice::Detours => {
                None
            }
        }
    }

    /// The router for these flows: its own, or one whose weights and detours controllers have set
    /// for them.
    fn router_for(
        &self,
        flows: &Flows,
        seed: u64,
        progress: &Progress,
    ) -> Result<Option<Box<dyn Router>>, Cancelled> {
        let Some(controllers) = &self.controllers else {
            return Ok(None);
        };
        let boxed: Option<Box<dyn Router>> = if self.choice == PathChoice::Detours {
            let routing = controllers.detours(flows, seed, progress)?;
            routing.map(|routing| Box::new(routing) as Box<dyn Router>)
        } else {
            let routing = controllers.adaptive(flows, seed, progress)?;
            routing.map(|routing| Box::new(routing) as Box<dyn Router>)
        };
        Ok(boxed)
    }

    /// The load of a workload on every directed link; `into_server` as in [`LinkFlows::enter`].
    pub fn count_links(
        &self,
        flows: &Flows,
        into_server: &[bool],
        seed: u64,
        progress: &Progress,
    ) -> Result<LinkFlows, Cancelled> {
        if let Some(router) = self.by_load() {
            return greedy::count_links(router, flows, &self.capacity, into_server, seed, progress);
        }
        let set = self.router_for(flows, seed, progress)?;
        let router = set.as_ref().unwrap_or(&self.router);
        count_links(
            router.as_ref(),
            flows,
            self.capacity.len(),
            into_server,
            seed,
            progress,
        )
    }

    /// The same without hops; `None` as soon as `goes_on` rejects the load so far. For schemes that
    /// choose by the load of all flows, `goes_on` is not called.
    pub(crate) fn count_links_while(
        &self,
        flows: &Flows,
        seed: u64,
        goes_on: &dyn Fn(&LinkFlows) -> bool,
        progress: &Progress,
    ) -> Result<Option<LinkFlows>, Cancelled> {
        if self.by_load().is_some() || self.controllers.is_some() {
            return self.count_links(flows, &[], seed, progress).map(Some);
        }
        count_links_while(
            self.router.as_ref(),
            flows,
            self.capacity.len(),
            seed,
            goes_on,
            progress,
        )
    }

    /// The path of every flow.
    pub fn route(&self, flows: &Flows, seed: u64, progress: &Progress) -> Result<Paths, Cancelled> {
        if let Some(router) = self.by_load() {
            return greedy::route(router, flows, &self.capacity, seed, progress);
        }
        let set = self.router_for(flows, seed, progress)?;
        let router = set.as_ref().unwrap_or(&self.router);
        Paths::route(router.as_ref(), flows, seed, progress)
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
