//! What callers ask of a run, and what nodes may change in it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cubeyard_dataplane::address::{Nha, is_virtual, server_of};
use cubeyard_dataplane::maps::{DEFAULT_ROUTE, Path};
use cubeyard_dataplane::route::SourceRoute;
use serde_json::{Map, Value, json};

use super::actor::{Actor, PendingWire, Reply, monotonic_nanos};
use super::forwarder::Forwarder;
use super::messages::FiveTuple;
use super::workload::Workload;
use super::{Homes, Request};
use crate::assembly::{self, Home};
use crate::error::{FabricError, Result};
use crate::faults::{Conditions, ServerCondition};
use crate::journal::{self, Container};
use crate::namespace::{self, Namespace};
use crate::network::Dataplane;
use crate::outside::Outside;
use crate::process::{self, Process};
use crate::routes::end_of;
use crate::{parallel, wiring};

/// How long nodes may take to say that they are ready.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// Most inspections that wait for one node; the oldest gives way.
const MOST_INSPECTIONS: usize = 16;

impl Actor {
    /// Does what a call asks and answers it, at once or later.
    pub fn answer(&mut self, request: Request, reply: &Reply) {
        let result = match request {
            Request::Describe => Ok(self.describe()),
            Request::Wire(homes) => match self.wire(homes, reply) {
                Ok(()) => return self.check_pending_wire(),
                Err(error) => Err(error),
            },
            Request::Workload(flows) => self.set_workload(flows),
            Request::Start => self.start(),
            Request::Stop => Ok(self.stop()),
            Request::Inject(fault) => self.inject(fault),
            Request::Recover(fault) => self.recover(&fault),
            Request::Inspect(server) => match self.inspect(server, reply) {
                Ok(()) => return,
                Err(error) => Err(error),
            },
            Request::Subscribe(subscriber) => {
                self.subscribe(subscriber);
                Ok(json!({"hz": 10}))
            }
            Request::Destroy => self.destroy(),
        };
        // A caller that has gone does not need the answer.
        let _ = reply.send(result);
    }

    fn describe(&self) -> Value {
        let servers = self.network.servers_here().map(|at| {
            let node = &self.nodes[at];
            json!({"id": self.id(at), "mount": node.folder, "wired": self.kernels[at].is_some(),
                "pid": node.process.as_ref().map(|process| process.pid)})
        });
        let faults: Vec<&str> = self.faults.iter().map(|fault| fault.id.as_str()).collect();
        json!({"run": self.network.network.run, "owner": self.network.network.owner, "servers": servers.collect::<Vec<_>>(), "plain": self.plain,
            "started": self.started_nanos.is_some(), "flows": self.workload.flow_count(), "faults": faults})
    }

    fn subscribe(&mut self, subscriber: std::sync::mpsc::SyncSender<std::sync::Arc<str>>) {
        if self.subscribers.is_empty() {
            // The first frame is to tell of one tick, not of all time since anybody looked.
            let _ = self.telemetry.links(self.switches.as_mut(), &mut self.kernels);
            let _ = self.telemetry.servers(0, &self.kernels, &self.nodes);
            self.telemetry.host();
            self.workload.columns();
        }
        self.subscribers.push(subscriber);
    }

    fn wire(&mut self, homes: Homes, reply: &Reply) -> Result<()> {
        if self.pending_wire.is_some() {
            return Err(FabricError::state(
                "the run is being wired",
                "wait for the answer",
            ));
        }
        let started = Instant::now();
        let fresh = match homes {
            Homes::Plain => self.plan_plain()?,
            Homes::Containers(pids) => self.plan_containers(&pids)?,
        };
        for (server, _) in &fresh {
            // The old namespace and its links go before the new ones come: they have the same names.
            self.kernels[*server] = None;
            self.nodes[*server].process = None;
        }
        let mut switches = match self.switches.take() {
            Some(switches) => switches,
            None => {
                self.outside = Outside::make(&self.network)?;
                assembly::make_switches(&self.network)?
            }
        };
        let stale: Vec<usize> = fresh.iter().map(|(server, _)| *server).collect();
        let result = assembly::remove_links(
            &self.network,
            &self.ports,
            &mut switches,
            &mut self.kernels,
            &stale,
        )
        .and_then(|()| {
            assembly::wire(
                &self.network,
                &self.ports,
                &mut switches,
                &mut self.kernels,
                &fresh,
                &mut self.ahead,
            )
        });
        self.switches = Some(switches);
        result?;
        if let Some(outside) = &mut self.outside {
            for server in &stale {
                if let Some(kernel) = &mut self.kernels[*server] {
                    outside.join(&self.network, *server, kernel)?;
                }
            }
        }
        self.forget_applied(&stale);
        self.apply_conditions()?;
        for (server, home) in &fresh {
            self.watch(*server)?;
            match home {
                Home::Process(pid) => self.adopt(*server, Process::watch(*pid)?)?,
                Home::Named => self.start_node(*server)?,
            }
            self.greet(*server);
        }
        let now = Instant::now();
        self.pending_wire = Some(PendingWire {
            reply: reply.clone(),
            started,
            deadline: now + READY_WITHIN,
            built_millis: (now - started).as_secs_f64() * 1e3,
            waiting: stale.into_iter().collect(),
        });
        Ok(())
    }

    fn plan_plain(&mut self) -> Result<Vec<(usize, Home)>> {
        if self.switches.is_some() {
            return Err(FabricError::state("the run is wired already", "destroy it first"));
        }
        self.plain = true;
        let run = &self.network.network.run;
        let mut names = self.common_namespaces();
        names.extend(
            self.network
                .servers_here()
                .map(|server| run.server_namespace(self.id(server))),
        );
        self.own_namespaces(names)?;
        for server in self.network.servers_here() {
            journal::give_folder(&self.nodes[server].folder, process::NOBODY)?;
        }
        Ok(self
            .network
            .servers_here()
            .map(|server| (server, Home::Named))
            .collect())
    }

    fn plan_containers(&mut self, pids: &BTreeMap<u32, u32>) -> Result<Vec<(usize, Home)>> {
        if self.plain {
            return Err(FabricError::state(
                "the run has no containers",
                "destroy it and prepare it again",
            ));
        }
        let mut fresh = Vec::with_capacity(pids.len());
        let mut taken = BTreeSet::from([Namespace::current()?.id()?]);
        // The first process may hide its own even from root; then ours, which is the host's too, has to do.
        if let Ok(of_first) = Namespace::of_process(1) {
            taken.insert(of_first.id()?);
        }
        for (server, kernel) in self.kernels.iter().enumerate() {
            if let Some(kernel) = kernel.as_ref().filter(|_| !pids.contains_key(&self.id(server))) {
                taken.insert(kernel.namespace.id()?);
            }
        }
        for (id, pid) in pids {
            let server = self.network.server(*id)?;
            if !self.network.division.has_server(server) {
                let fix = "wire it on the host that network.servers names";
                return Err(FabricError::bad(
                    format!("pids.{id}"),
                    pid,
                    "of a server of this host",
                    fix,
                ));
            }
            let namespace = Namespace::of_process(*pid)?.id()?;
            if !taken.insert(namespace) {
                let limit =
                    "a process in a network namespace of its own, neither the host's nor another server's";
                let fix = "start the container with --network none and give the pid of docker inspect";
                return Err(FabricError::bad(format!("pids.{id}"), pid, limit, fix));
            }
            self.entry.containers.push(Container { pid: *pid, namespace });
            fresh.push((server, Home::Process(*pid)));
        }
        if self.switches.is_none() {
            let missing = self
                .network
                .servers_here()
                .find(|server| !pids.contains_key(&self.id(*server)));
            if let Some(server) = missing {
                let limit = "a pid for every server the first time";
                return Err(FabricError::bad(
                    "pids",
                    format!("without server {}", self.id(server)),
                    limit,
                    "add it",
                ));
            }
            self.own_namespaces(self.common_namespaces())?;
        } else {
            self.state.write(&self.entry)?;
        }
        Ok(fresh)
    }

    /// Names of the namespaces that are no server's.
    fn common_namespaces(&self) -> Vec<String> {
        let run = &self.network.network.run;
        let outside = (!self.network.network.gateways.is_empty()).then(|| run.outside_namespace());
        std::iter::once(run.switch_namespace()).chain(outside).collect()
    }

    /// Writes down that namespaces of these names are ours, unless one of them is there and so somebody else's.
    fn own_namespaces(&mut self, names: Vec<String>) -> Result<()> {
        let there = namespace::names_with_prefix("");
        if let Some(name) = names.iter().find(|name| there.contains(name)) {
            let message = format!("there is a namespace {name} already, and it is not ours");
            return Err(FabricError::state(
                message,
                "remove it, or give the run another id",
            ));
        }
        self.entry.namespaces = names;
        self.state.write(&self.entry)
    }

    pub(super) fn start_node(&mut self, server: usize) -> Result<()> {
        let Some(kernel) = &self.kernels[server] else {
            return Ok(());
        };
        let folder = &self.nodes[server].folder;
        let run = &self.network.network.run;
        let raw_sockets = self.network.network.dataplane == Dataplane::Software;
        let process = Process::start_node(&self.node_program, run, &kernel.namespace, folder, raw_sockets)?;
        self.adopt(server, process)
    }

    pub(super) fn on_ready(&mut self, server: usize) {
        if let Some(pending) = &mut self.pending_wire {
            pending.waiting.remove(&server);
        }
        self.check_pending_wire();
    }

    /// Answers a wire call when every node is ready, or when it has taken too long.
    pub(super) fn check_pending_wire(&mut self) {
        let Some(pending) = &self.pending_wire else { return };
        let late = Instant::now() >= pending.deadline;
        let lost = pending
            .waiting
            .iter()
            .find(|server| self.nodes[**server].process.is_none())
            .copied();
        let result = match (pending.waiting.first(), lost) {
            (None, _) => Ok(json!({"millis": pending.started.elapsed().as_secs_f64() * 1e3,
                "built_millis": pending.built_millis})),
            (Some(_), Some(server)) => {
                let message = format!("the node of server {} ended before it was ready", self.id(server));
                Err(FabricError::state(message, "look at the node's own output"))
            }
            (Some(&server), None) if late => {
                let message = format!(
                    "the node of server {} did not say that it is ready",
                    self.id(server)
                );
                Err(FabricError::state(
                    message,
                    "see whether the host has processor time left",
                ))
            }
            (Some(_), None) => return,
        };
        if let Some(pending) = self.pending_wire.take() {
            let _ = pending.reply.send(result);
        }
    }

    /// A node that refuses what it is told does not become ready: the caller learns why.
    pub(super) fn refuse_pending_wire(&mut self, server: usize, reason: &str) {
        let id = self.id(server);
        if let Some(pending) = self
            .pending_wire
            .take_if(|pending| pending.waiting.contains(&server))
        {
            let message = format!("the node of server {id} refuses: {reason}");
            let _ = pending.reply.send(Err(FabricError::state(
                message,
                "use the node and the fabric of one version",
            )));
        }
    }

    fn set_workload(&mut self, flows: Value) -> Result<Value> {
        let workload = Workload::from_json(&self.network, flows)?;
        self.stop();
        self.workload = workload;
        for server in 0..self.nodes.len() {
            let orders = self.workload.orders(server);
            if let Some(socket) = &mut self.nodes[server].socket {
                for order in orders {
                    socket.send(&order);
                }
            }
            self.watch_room(server);
        }
        Ok(json!({"flows": self.workload.flow_count()}))
    }

    fn start(&mut self) -> Result<Value> {
        if self.switches.is_none() {
            return Err(FabricError::state("the run is not wired", "call wire first"));
        }
        let at_nanos = *self.started_nanos.get_or_insert_with(monotonic_nanos);
        self.send_to_all(&json!({"t": "start"}));
        Ok(json!({"at_nanos": at_nanos}))
    }

    fn stop(&mut self) -> Value {
        self.started_nanos = None;
        self.workload = Workload::default();
        self.send_to_all(&json!({"t": "stop"}));
        json!({"at_nanos": monotonic_nanos()})
    }

    fn send_to_all(&mut self, message: &Value) {
        for server in 0..self.nodes.len() {
            if let Some(socket) = &mut self.nodes[server].socket {
                socket.send(message);
            }
            self.watch_room(server);
        }
    }

    fn inspect(&mut self, id: u32, reply: &Reply) -> Result<()> {
        let server = self.network.server(id)?;
        if !self.network.division.has_server(server) {
            return Err(FabricError::not_found(
                "server on this host",
                id,
                "ask the host it is on",
            ));
        }
        let node = &mut self.nodes[server];
        let frozen = self.applied.servers[server] == ServerCondition::Frozen;
        let (Some(socket), false) = (&mut node.socket, frozen) else {
            let message = format!("the node of server {id} does not answer");
            return Err(FabricError::state(message, "recover the server first"));
        };
        if !socket.announce(&json!({"t": "inspect"})) {
            return Err(FabricError::state(
                format!("server {id} has too many inspections"),
                "wait for answers",
            ));
        }
        if node.inspections.len() == MOST_INSPECTIONS {
            node.inspections.pop_front();
        }
        node.inspections.push_back(reply.clone());
        self.watch_room(server);
        Ok(())
    }

    /// What a node knows, and what forwards for it has counted.
    pub(super) fn with_counts(&self, server: usize, mut known: Map<String, Value>) -> Result<Value> {
        let forwarder = Forwarder::of(self.kernels[server].as_ref(), &self.nodes[server]);
        known.extend(forwarder.describe()?);
        Ok(Value::Object(known))
    }

    /// Removes everything the run has made. What fails is reported, and the journal kept for another try.
    fn destroy(&mut self) -> Result<Value> {
        let started = Instant::now();
        let mut removed = self.kernels.iter().filter(|kernel| kernel.is_some()).count();
        removed += usize::from(self.switches.is_some());
        if let Some(pending) = self.pending_wire.take() {
            let _ = pending.reply.send(Err(FabricError::state(
                "the run was destroyed",
                "prepare it again",
            )));
        }
        if self.plain {
            for node in &self.nodes {
                if let Some(process) = &node.process {
                    process.kill();
                }
            }
            for node in &mut self.nodes {
                if let Some(mut process) = node.process.take() {
                    process.collect();
                }
            }
        } else {
            let living = self.kernels.iter_mut().enumerate();
            let living = living
                .filter_map(|(at, kernel)| Some((at, kernel.as_mut()?)))
                .collect();
            parallel::for_each(living, |(server, kernel)| {
                assembly::strip(&self.network, &self.ports[server], kernel)
            })?;
        }
        self.kernels.fill_with(|| None);
        if let Some(mut switches) = self.switches.take() {
            assembly::unstitch(&mut switches)?;
        }
        self.outside = None;
        for name in &self.entry.namespaces {
            namespace::remove_name(name)?;
        }
        let left = self
            .entry
            .namespaces
            .iter()
            .filter(|name| namespace::id_of_name(name).is_some())
            .count();
        if left > 0 {
            return Err(FabricError::system(
                "destroying the run",
                format!("{left} namespaces are left"),
            ));
        }
        self.state.forget(&self.network.network.run)?;
        self.ended = true;
        Ok(json!({"removed": removed, "millis": started.elapsed().as_secs_f64() * 1e3}))
    }

    // ---- what nodes may change: their own server's maps, along hops that exist

    pub(super) fn set_next_hop(&mut self, server: usize, nha: u8, up: bool) -> Result<()> {
        let neighbours = &self.network.neighbours[server];
        let Some(neighbour) = neighbours.iter().find(|neighbour| neighbour.nha.0 == nha) else {
            return Err(FabricError::bad(
                "nha",
                nha,
                "a neighbour of this server",
                "use those of configure",
            ));
        };
        let hop = wiring::next_hop(&self.network, server, neighbour, up);
        let nha = neighbour.nha;
        match self.fast_path(server) {
            Some(fast_path) => fast_path.set_next_hop(nha, hop),
            None => Ok(()),
        }
    }

    pub(super) fn set_route(&mut self, server: usize, dst: u32, nha: &[u8], path_id: u32) -> Result<()> {
        let destination = self.network.server(dst)?;
        let route = self.checked_route(server, nha)?;
        self.check_end(server, &route, destination)?;
        let address = self.network.address(destination);
        match self.fast_path(server) {
            Some(fast_path) => fast_path.set_route(address, Path::new(address, path_id, &route)),
            None => Ok(()),
        }
    }

    pub(super) fn set_gateway(
        &mut self,
        server: usize,
        gateway: u32,
        nha: &[u8],
        path_id: u32,
    ) -> Result<()> {
        let end = self.network.server(gateway)?;
        if !self.network.is_gateway(end) {
            return Err(FabricError::not_found(
                "gateway",
                gateway,
                "use those of configure",
            ));
        }
        let route = self.checked_route(server, nha)?;
        self.check_end(server, &route, end)?;
        let path = Path::new(self.network.address(end), path_id, &route);
        match self.fast_path(server) {
            Some(fast_path) => fast_path.set_route(DEFAULT_ROUTE.into(), path),
            None => Ok(()),
        }
    }

    pub(super) fn set_flow(
        &mut self,
        server: usize,
        flow: FiveTuple,
        nha: &[u8],
        path_id: u32,
    ) -> Result<()> {
        let route = self.checked_route(server, nha)?;
        if is_virtual(flow.dst) {
            let named = server_of(flow.dst).and_then(|id| self.network.server(id).ok());
            let destination = named
                .ok_or_else(|| FabricError::not_found("flow.dst", flow.dst, "use a server's address"))?;
            self.check_end(server, &route, destination)?;
        }
        let end = end_of(&self.network, server, route.hops()).unwrap_or(server);
        let path = Path::new(self.network.address(end), path_id, &route);
        match self.fast_path(server) {
            Some(fast_path) => fast_path.set_flow(flow.into(), path),
            None => Ok(()),
        }
    }

    fn fast_path(&mut self, server: usize) -> Option<&mut crate::fast_path::FastPath> {
        self.kernels[server].as_mut()?.fast_path.as_mut()
    }

    fn checked_route(&self, server: usize, nha: &[u8]) -> Result<SourceRoute> {
        let route = SourceRoute::new(nha.iter().copied().map(Nha));
        let route = route.filter(|route| end_of(&self.network, server, route.hops()).is_some());
        route.ok_or_else(|| {
            let limit = "one to eight hops, each to a neighbour of the server before";
            FabricError::bad("nha", format!("{nha:?}"), limit, "send a path of this network")
        })
    }

    fn check_end(&self, server: usize, route: &SourceRoute, destination: usize) -> Result<()> {
        if end_of(&self.network, server, route.hops()) == Some(destination) {
            return Ok(());
        }
        let limit = format!("a path to server {}", self.id(destination));
        Err(FabricError::bad(
            "nha",
            format!("{:?}", route.bytes()),
            limit,
            "send a path of this network",
        ))
    }

    /// Links made anew are as on the first day.
    fn forget_applied(&mut self, fresh: &[usize]) {
        let normal = Conditions::under(&self.network, []);
        for server in fresh {
            self.applied.servers[*server] = ServerCondition::Running;
            for port in &self.ports[*server] {
                self.applied.ends[port.link] = normal.ends[port.link];
            }
        }
    }
}
