//! `wire`: makes the network, or the links of servers that were started again. The answer is sent
//! when the nodes are ready.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use crate::error::{FabricError, Result};
use crate::host::belonging::{MARK, is_marked, sees_folder};
use crate::host::namespace::{Namespace, NamespaceId};
use crate::host::process::Process;
use crate::journal::Container;
use crate::names::LOOPBACK_INDEX;
use crate::netlink::{Batch, Netlink, gone_already, link_dump, read_link_state, set_up};
use crate::run::state::RunState;
use crate::run::{Homes, Reply};
use crate::servers::{Home, foreign_interface};

/// Wires servers: in a new run all of this host, unless `rest_follows`. Sends the answer by
/// `reply`, unless it fails immediately.
pub fn wire(run: &mut RunState, homes: Homes, rest_follows: bool, reply: &Reply) -> Result<()> {
    if run.wiring.is_pending() {
        return Err(FabricError::state(
            "the run is being wired",
            "wait for the answer",
        ));
    }
    let started = Instant::now();
    let in_pods = matches!(homes, Homes::Pods(_));
    let (fresh, mut processes) = match homes {
        Homes::Plain => (plan_plain(run)?, BTreeMap::new()),
        Homes::Containers(pids) | Homes::Pods(pids) => plan_containers(run, &pids, in_pods, rest_follows)?,
    };
    if in_pods {
        run.wiring.pods = true;
        take_networks_down(fresh.iter().filter_map(|(_, home)| match home {
            Home::Container(namespace) => Some(namespace),
            Home::Named => None,
        }))?;
    }
    for (server, _) in &fresh {
        // The new namespace and links have the same names, so the old ones must be removed first.
        run.kernels.servers[*server] = None;
        run.nodes.release_process(*server);
    }
    let is_new = !run.kernels.is_wired();
    run.kernels.wire(&fresh)?;
    let servers: BTreeSet<usize> = fresh.iter().map(|(server, _)| *server).collect();
    run.active_faults.forget(&run.network, &servers);
    servers.iter().for_each(|server| run.forget_routes_of(*server));
    run.apply_faults()?;
    if is_new {
        run.watch_routers()?;
    }
    for server in &servers {
        run.watch(*server)?;
        if let Some(kernel) = run.kernels.servers[*server].as_ref().filter(|_| in_pods) {
            run.nodes.listen_inside(*server, &kernel.namespace)?;
        }
        match processes.remove(server) {
            Some(process) => run.nodes.adopt(*server, process)?,
            None => start_node(run, *server)?,
        }
        run.configure_node(*server);
    }
    run.wiring.wait_for(servers, reply, started);
    run.check_wiring();
    Ok(())
}

/// Takes down the network of pods before they contain anything but a first container, which waits
/// for it. Returns the number of pods.
pub fn isolate(run: &RunState, pids: &BTreeMap<u32, u32>) -> Result<usize> {
    let homes = homes_in(run, pids, true)?;
    take_networks_down(homes.iter().map(|home| &home.namespace))?;
    Ok(homes.len())
}

/// Removes all interfaces but loopback from the namespaces of pods: those of the cluster's network
/// plug-in. With the pod, the plug-in removes its part itself. A server that was wired before has
/// our interfaces only in its old namespace.
fn take_networks_down<'a>(namespaces: impl Iterator<Item = &'a Namespace>) -> Result<()> {
    for namespace in namespaces {
        namespace.run(|| {
            let mut socket = Netlink::open()?;
            let mut others = Vec::new();
            socket.dump(&mut link_dump(), |answer| {
                let state = read_link_state(answer);
                others.extend(
                    state
                        .map(|link| link.index)
                        .filter(|index| *index != LOOPBACK_INDEX),
                );
            })?;
            let mut batch = Batch::new();
            others
                .into_iter()
                .for_each(|index| set_up(&mut batch, index, false));
            socket.run(&mut batch, gone_already)
        })?;
    }
    Ok(())
}

/// Starts the node of a server in a namespace that the fabric made.
pub fn start_node(run: &mut RunState, server: usize) -> Result<()> {
    let Some(kernel) = &run.kernels.servers[server] else {
        return Ok(());
    };
    let description = &run.network.description;
    let raw_sockets = run.network.behaviour.in_user_space();
    let process = Process::start_node(
        &run.node_program,
        &description.run,
        &kernel.namespace,
        &run.nodes.folder(server)?,
        raw_sockets,
    )?;
    run.nodes.adopt(server, process)
}

/// Plans servers in namespaces that the fabric makes.
fn plan_plain(run: &mut RunState) -> Result<Vec<(usize, Home)>> {
    if run.kernels.is_wired() {
        return Err(FabricError::state("the run is wired already", "destroy it first"));
    }
    run.wiring.plain = true;
    let id = &run.network.description.run;
    let mut names = common_namespaces(run);
    let servers = run.network.servers_here();
    names.extend(servers.map(|server| id.server_namespace(run.id(server))));
    run.wiring.own_namespaces(names)?;
    Ok(run
        .network
        .servers_here()
        .map(|server| (server, Home::Named))
        .collect())
}

/// A server with its process and namespace after the checks. The process is kept open: its id could
/// be reused if it were looked up again.
struct Proved {
    server: usize,
    process: Process,
    namespace: Namespace,
}

/// Servers with their locations, and the processes of containers, by server.
type Planned = (Vec<(usize, Home)>, BTreeMap<usize, Process>);

/// Plans servers in containers, which are given by a process in each.
fn plan_containers(
    run: &mut RunState,
    pids: &BTreeMap<u32, u32>,
    in_pods: bool,
    rest_follows: bool,
) -> Result<Planned> {
    if run.wiring.plain {
        let fix = "destroy it and prepare it again";
        return Err(FabricError::state("the run has no containers", fix));
    }
    let (mut fresh, mut processes) = (Vec::with_capacity(pids.len()), BTreeMap::new());
    for home in homes_in(run, pids, in_pods)? {
        run.wiring.add_container(Container {
            pid: home.process.pid,
            namespace: home.namespace.id()?,
        });
        fresh.push((home.server, Home::Container(home.namespace)));
        processes.insert(home.server, home.process);
    }
    if run.kernels.is_wired() {
        run.wiring.write()?;
        return Ok((fresh, processes));
    }
    let missing = run
        .network
        .servers_here()
        .find(|server| !pids.contains_key(&run.id(*server)));
    if let Some(server) = missing.filter(|_| !rest_follows) {
        let given = format!("without server {}", run.id(server));
        let limit = "a pid for every server in the first call, unless rest_follows";
        return Err(FabricError::bad("pids", given, limit, "add it"));
    }
    let names = common_namespaces(run);
    run.wiring.own_namespaces(names)?;
    Ok((fresh, processes))
}

/// Checks that these are servers of this host, each with a separate network. Refuses a process that
/// was not started for its server: it would get the server's interfaces, and end with the run.
fn homes_in(run: &RunState, pids: &BTreeMap<u32, u32>, in_pods: bool) -> Result<Vec<Proved>> {
    let mut homes = Vec::with_capacity(pids.len());
    let mut taken = taken_namespaces(run, pids)?;
    for (id, pid) in pids {
        let server = run.network.server(*id)?;
        let field = || format!("pids.{id}");
        if !run.network.division.has_server(server) {
            let fix = "wire it on the host that network.servers names";
            return Err(FabricError::bad(field(), pid, "of a server of this host", fix));
        }
        let ended = || {
            let fix = "start the container again and give its new pid";
            FabricError::bad(field(), pid, "a process that runs", fix)
        };
        let process = Process::watch(*pid).map_err(|_| ended())?;
        let namespace = Namespace::of_process(*pid)?;
        if in_pods {
            check_pod(run, &field(), *pid)?;
        } else {
            check_container(run, &field(), server, *pid, &namespace)?;
        }
        if process.has_ended() {
            return Err(ended());
        }
        if !taken.insert(namespace.id()?) {
            let limit =
                "a process in a network namespace of its own, neither the host's nor another server's";
            let fix = "start the container with --network none and give the pid of docker inspect";
            return Err(FabricError::bad(field(), pid, limit, fix));
        }
        homes.push(Proved {
            server,
            process,
            namespace,
        });
    }
    Ok(homes)
}

/// Checks that a process in a pod has the run's mark; a pod has no folder of ours.
fn check_pod(run: &RunState, field: &str, pid: u32) -> Result<()> {
    let id = &run.network.description.run;
    if is_marked(Path::new(&format!("/proc/{pid}")), id) {
        return Ok(());
    }
    let limit = format!("a process that was started for this run, with {MARK}={id} in its environment");
    Err(FabricError::bad(
        field,
        pid,
        limit,
        "give containers of the run's own pods",
    ))
}

/// Checks that a container sees the folder of its server, and has no foreign interface.
fn check_container(
    run: &RunState,
    field: &str,
    server: usize,
    pid: u32,
    namespace: &Namespace,
) -> Result<()> {
    if !sees_folder(pid, &run.nodes.folder(server)?)? {
        let limit = "a process of the container that was made for this server";
        let fix = format!(
            "start the container with {} at /run/cubeyard",
            run.nodes.path(server).display()
        );
        return Err(FabricError::bad(field, pid, limit, fix));
    }
    let mut socket = namespace.run(Netlink::open)?;
    match foreign_interface(&mut socket)? {
        None => Ok(()),
        Some(name) => {
            let limit = format!("in a network without interfaces of others; it has {name}");
            Err(FabricError::bad(
                field,
                pid,
                limit,
                "start the container with --network none",
            ))
        }
    }
}

/// Namespaces that none of these containers may have: the host's, and those of other servers.
fn taken_namespaces(run: &RunState, pids: &BTreeMap<u32, u32>) -> Result<BTreeSet<NamespaceId>> {
    let mut taken = BTreeSet::from([Namespace::current()?.id()?]);
    // Some hosts hide the first process even from root. Then our own namespace is used, which is
    // the host's too.
    if let Ok(of_first) = Namespace::of_process(1) {
        taken.insert(of_first.id()?);
    }
    for (server, kernel) in run.kernels.servers.iter().enumerate() {
        if let Some(kernel) = kernel.as_ref().filter(|_| !pids.contains_key(&run.id(server))) {
            taken.insert(kernel.namespace.id()?);
        }
    }
    Ok(taken)
}

/// Names of the namespaces that belong to no server.
fn common_namespaces(run: &RunState) -> Vec<String> {
    let description = &run.network.description;
    let external = (!description.gateways.is_empty()).then(|| description.run.outside_namespace());
    run.network.rooms.names.iter().cloned().chain(external).collect()
}
