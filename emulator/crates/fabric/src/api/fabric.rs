//! The methods of the socket, over all runs.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cubeyard_dataplane::tables::HexBytes;
use rustix::process::{Signal, getpid, kill_process};
use serde::Deserialize;
use serde_json::{Value, json};

use super::capture::{self, Captures};
use super::owners::{Owners, end_with_caller};
use super::probes::Probes;
use super::server::{Callers, write_line};
use crate::error::{During, FabricError, Result};
use crate::host::clock::monotonic_nanos;
use crate::host::strays::{ContainerId, processes_of, remove_strays};
use crate::host::{namespace, probe, underlay};
use crate::journal::State;
use crate::names::RunId;
use crate::network::{MAX_SERVERS, Network};
use crate::reap;
use crate::run::{FrameSender, Homes, NodeSignal, Request, Run, Setup};

/// Descriptors of one server: its sockets, namespace, maps and programs.
const DESCRIPTORS_PER_SERVER: u64 = 26;
const OWN_DESCRIPTORS: u64 = 200;

/// How a fabric is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of journals and sockets.
    pub state: PathBuf,
    /// The user who may connect, in addition to root. May have owned the state folder before.
    pub uid: Option<u32>,
    /// Program of nodes in servers without containers.
    pub node_program: PathBuf,
}

/// All runs of this host.
#[derive(Debug)]
pub struct Fabric {
    options: Options,
    state: Arc<State>,
    runs: Mutex<BTreeMap<RunId, Arc<Run>>>,
    most_servers: usize,
    /// Callers that runs end with.
    pub(super) owners: Owners,
    /// Connected callers.
    pub(super) callers: Callers,
    /// Packet captures that are running.
    pub(super) captures: Captures,
    probes: Probes,
}

/// The methods that a socket offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// All methods, for workers.
    All,
    /// Methods that read runs or talk to the programs of servers; no method that makes or ends a
    /// run, or reaches anything outside its networks.
    Watch,
}

/// The methods of [`Rights::Watch`], which the API calls for the page. `tell`, `program`, `chip`
/// and `registers` may change what programs and chips of a run's own servers do: they answer
/// the person at the page, which an order to a worker does not.
const WATCHING: [&str; 10] = [
    "probe",
    "host",
    "runs",
    "inspect",
    "subscribe",
    "capture",
    "tell",
    "program",
    "chip",
    "registers",
];

/// A connected caller.
#[derive(Debug)]
pub struct Caller {
    /// Its number among all callers so far.
    pub number: usize,
    /// Its user as the kernel reports it: the caller cannot choose it.
    pub user: u32,
    /// The methods of the socket that it connected to.
    pub rights: Rights,
    /// Where the frames of its subscriptions go.
    pub frames: FrameSender,
    /// Connection to the caller.
    pub connection: UnixStream,
    /// The same connection, locked for writing a line.
    pub output: Arc<Mutex<UnixStream>>,
}

impl Caller {
    /// Root may use every run, another user only the runs that this user prepared.
    fn may_use(&self, run: &Run) -> bool {
        self.user == 0 || self.user == run.user
    }

    /// Writes a line between answers.
    pub(super) fn say(&self, line: &Value) -> std::io::Result<()> {
        write_line(&self.output, &line.to_string())
    }

    /// How long a line may wait for a caller that does not read.
    pub(super) fn patience(&self, most: Option<Duration>) -> Result<()> {
        self.connection
            .set_write_timeout(most)
            .during(|| "limiting how long a caller may take".to_owned())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireJson {
    run: RunId,
    #[serde(default)]
    pids: Option<BTreeMap<u32, u32>>,
    #[serde(default)]
    containers: Option<BTreeMap<u32, ContainerId>>,
    #[serde(default)]
    plain: bool,
    /// Whether some servers of the run are missing here: they are wired by a later request.
    #[serde(default)]
    rest_follows: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IsolateJson {
    run: RunId,
    containers: BTreeMap<u32, ContainerId>,
}

impl Fabric {
    /// Opens the state folder and removes leftovers of a crashed fabric.
    pub fn open(options: Options) -> Result<Fabric> {
        let state = State::open(&options.state, options.uid)?;
        namespace::prepare_names()?;
        reap::reap_all(&state)?;
        Ok(Fabric {
            options,
            state: Arc::new(state),
            runs: Mutex::new(BTreeMap::new()),
            most_servers: most_servers(),
            owners: Owners::default(),
            callers: Callers::default(),
            captures: Captures::default(),
            probes: Probes::default(),
        })
    }

    /// Handles one request.
    pub fn call(self: &Arc<Self>, method: &str, params: Value, caller: &Caller) -> Result<Value> {
        if caller.rights == Rights::Watch && !WATCHING.contains(&method) {
            let message = format!(
                "{method} is not for callers of this socket: it takes {}",
                WATCHING.join(", ")
            );
            return Err(FabricError::denied(message));
        }
        match method {
            "probe" => self.probes.answer(&params),
            "host" => Ok(
                json!({"version": probe::BUILD, "at_nanos": monotonic_nanos(), "cores": probe::cores(),
                "memory_free_bytes": probe::memory_free_bytes()}),
            ),
            "prepare" => self.prepare(params, caller),
            "isolate" => self.isolate(params, caller),
            "wire" => self.wire(params, caller),
            "workload" => self.ask(caller, &params, Request::Workload(params["flows"].clone())),
            "start" => self.ask(caller, &params, Request::Start),
            "stop" => self.ask(caller, &params, Request::Stop),
            "inject" => self.ask(caller, &params, Request::Inject(params["fault"].clone())),
            "recover" => self.ask(caller, &params, Request::Recover(params["fault"].clone())),
            "signal" => {
                let signal = NodeSignal::deserialize(&params["signal"])
                    .map_err(|error| FabricError::malformed(format!("signal: {error}")))?;
                let beside = Option::<ContainerId>::deserialize(&params["beside"])
                    .map_err(|error| FabricError::malformed(format!("beside: {error}")))?;
                let server = server_of(&params)?;
                self.ask(
                    caller,
                    &params,
                    Request::Signal {
                        server,
                        signal,
                        beside,
                    },
                )
            }
            "inspect" => self.ask(caller, &params, Request::Inspect(server_of(&params)?)),
            "tell" => {
                let server = server_of(&params)?;
                let (service, bytes) = (text_of(&params, "service")?, text_of(&params, "message")?);
                self.ask(
                    caller,
                    &params,
                    Request::Tell {
                        server,
                        service,
                        bytes: bytes.into_bytes(),
                    },
                )
            }
            "program" => {
                let text = match &params["program"] {
                    Value::Null => None,
                    _ => Some(text_of(&params, "program")?),
                };
                self.ask(caller, &params, Request::Program(text))
            }
            "chip" => {
                let (server, request) = (server_of(&params)?, hex_of(&params, "request")?);
                self.ask(caller, &params, Request::Chip { server, request })
            }
            "registers" => {
                let server = server_of(&params)?;
                let value = match &params["value"] {
                    Value::Null => None,
                    value => Some(whole_of(value, "value")?),
                };
                let register = match &params["register"] {
                    Value::Null if value.is_none() => None,
                    _ => Some((text_of(&params, "register")?, value)),
                };
                self.ask(caller, &params, Request::Registers { server, register })
            }
            "subscribe" => self.ask(
                caller,
                &params,
                Request::Subscribe(caller.number, caller.frames.clone()),
            ),
            "capture" => serde_json::to_value(capture::answer(self, params, caller)?)
                .during(|| "writing a capture".to_owned()),
            "destroy" => {
                let run = run_of(&params)?;
                let removed = self.destroy_of(&run, owner_of(&params)?, caller)?;
                remove_strays(&run, &strays_of(&params)?);
                Ok(removed)
            }
            "reap" => self.reap(&params, caller),
            "runs" => self.describe_all(caller),
            "end" => self.end(caller),
            other => {
                let limit = "probe, host, prepare, isolate, wire, workload, start, stop, inject, recover, signal, subscribe, inspect, tell, \
                             program, chip, registers, capture, destroy, reap, runs or end";
                Err(FabricError::bad(
                    "method",
                    format!("{other:?}"),
                    limit,
                    "use one of these",
                ))
            }
        }
    }

    /// Destroys every run.
    pub fn destroy_all(&self) {
        let runs: Vec<RunId> = self.runs().keys().cloned().collect();
        for run in runs {
            // If it cannot be removed now, the next start does it: it stays in the journal.
            let _ = self.destroy(&run);
        }
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<RunId, Arc<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, id: &RunId) -> Result<Arc<Run>> {
        let known_run = self.runs().get(id).cloned();
        known_run.ok_or_else(|| FabricError::not_found("run", id, "prepare it first"))
    }

    /// A run that the caller may use.
    pub(super) fn run_of(&self, id: &RunId, caller: &Caller) -> Result<Arc<Run>> {
        let run = self.run(id)?;
        if !caller.may_use(&run) {
            let message = format!(
                "run {id} is another user's: it belongs to user {}, not to {}",
                run.user, caller.user
            );
            return Err(FabricError::denied(message));
        }
        Ok(run)
    }

    fn ask(&self, caller: &Caller, params: &Value, request: Request) -> Result<Value> {
        self.run_of(&run_of(params)?, caller)?.ask(request)
    }

    fn prepare(self: &Arc<Self>, mut params: Value, caller: &Caller) -> Result<Value> {
        let ends_with_caller = flag(&params, "ends_with_caller")?;
        let network = Arc::new(Network::from_json(params["network"].take())?);
        let id = network.description.run.clone();
        if params.get("run").is_some_and(|run| run != id.as_str()) {
            return Err(FabricError::bad(
                "run",
                &params["run"],
                format!("network.run, {id}"),
                "give the same run",
            ));
        }
        let mut runs = self.runs();
        if !runs.contains_key(&id) {
            self.check_room(&runs, &network)?;
            check_tunnels(&runs, &network)?;
            let setup = Setup {
                network,
                state: self.state.clone(),
                node_program: self.options.node_program.clone(),
                user: caller.user,
            };
            runs.insert(id.clone(), Arc::new(Run::start(setup)?));
        }
        drop(runs);
        let run = self.run_of(&id, caller)?;
        if ends_with_caller {
            end_with_caller(self, &id, &caller.connection)?;
        }
        run.ask(Request::Describe)
    }

    fn check_room(&self, runs: &BTreeMap<RunId, Arc<Run>>, network: &Network) -> Result<()> {
        let taken: usize = runs.values().map(|run| run.network.servers_here().count()).sum();
        let wanted = network.servers_here().count();
        if taken + wanted > self.most_servers {
            let limit = format!(
                "at most {} besides the {taken} of other runs",
                self.most_servers - taken
            );
            let fix = "end another run, emulate a slice, or raise the limit of open files";
            return Err(FabricError::bad(
                "network.servers",
                format!("{wanted} servers"),
                limit,
                fix,
            ));
        }
        let clash = runs
            .keys()
            .find(|other| other.short() == network.description.run.short());
        match clash {
            Some(other) => Err(FabricError::state(
                format!("run {other} starts with the same eight characters"),
                "give the run another id",
            )),
            None => Ok(()),
        }
    }

    fn wire(&self, params: Value, caller: &Caller) -> Result<Value> {
        let json: WireJson = serde_path_to_error::deserialize(params)
            .map_err(|error| FabricError::malformed(format!("{}: {}", error.path(), error.inner())))?;
        let homes = match (json.pids, json.containers, json.plain) {
            (Some(pids), None, false) => Homes::Containers(pids),
            (None, Some(containers), false) => Homes::Pods(processes_of(&containers)?),
            (None, None, true) => Homes::Plain,
            _ => {
                let needs = "wire needs one of pids, containers or plain: true";
                return Err(FabricError::malformed(needs));
            }
        };
        let rest_follows = json.rest_follows;
        self.run_of(&json.run, caller)?
            .ask(Request::Wire { homes, rest_follows })
    }

    fn isolate(&self, params: Value, caller: &Caller) -> Result<Value> {
        let json: IsolateJson = serde_path_to_error::deserialize(params)
            .map_err(|error| FabricError::malformed(format!("{}: {}", error.path(), error.inner())))?;
        let pids = processes_of(&json.containers)?;
        self.run_of(&json.run, caller)?.ask(Request::Isolate(pids))
    }

    /// The user who may connect, in addition to root.
    pub(super) fn uid(&self) -> Option<u32> {
        self.options.uid
    }

    /// Whether this fabric has no run and no connected caller.
    pub(super) fn is_unused(&self) -> bool {
        self.callers.now() == 0 && self.runs().is_empty()
    }

    fn destroy(&self, id: &RunId) -> Result<Value> {
        self.remove(id, Request::Destroy { end_processes: false })
    }

    /// Destroys a run for a caller that names the run's owner. The run stays if another owner has
    /// adopted it since.
    fn destroy_of(&self, id: &RunId, owner: Option<&str>, caller: &Caller) -> Result<Value> {
        if self.run(id).is_err() {
            return Ok(json!({"removed": 0}));
        }
        let run = self.run_of(id, caller)?;
        if owner.is_some_and(|owner| owner != run.network.description.owner) {
            return Ok(json!({"removed": 0}));
        }
        self.destroy(id)
    }

    /// Destroys a run and ends the processes in its containers, which the caller would have
    /// removed.
    pub(super) fn end_run(&self, id: &RunId) -> Result<Value> {
        self.remove(id, Request::Destroy { end_processes: true })
    }

    fn remove(&self, id: &RunId, request: Request) -> Result<Value> {
        let Ok(run) = self.run(id) else {
            return Ok(json!({"removed": 0}));
        };
        let result = run.ask(request)?;
        self.runs().remove(id);
        self.owners.forget(id);
        Ok(result)
    }

    fn reap(&self, params: &Value, caller: &Caller) -> Result<Value> {
        let keep: Vec<RunId> =
            serde_json::from_value(params.get("keep").cloned().unwrap_or_else(|| json!([])))
                .map_err(|error| FabricError::malformed(format!("keep: {error}")))?;
        let doomed: Vec<RunId> = self
            .runs()
            .iter()
            .filter(|(id, run)| !keep.contains(id) && caller.may_use(run))
            .map(|(id, _)| id.clone())
            .collect();
        for run in &doomed {
            self.destroy(run)?;
        }
        Ok(json!({"removed": doomed}))
    }

    /// Ends this process unless it has a run of another user.
    fn end(&self, caller: &Caller) -> Result<Value> {
        let other = self.runs().values().find(|run| !caller.may_use(run)).cloned();
        match other {
            None => end_process(),
            Some(run) => {
                let (run, user) = (&run.network.description.run, run.user);
                let message =
                    format!("run {run} of user {user} would end with this fabric, which serves it, too");
                Err(FabricError::denied(message))
            }
        }
    }

    fn describe_all(&self, caller: &Caller) -> Result<Value> {
        let runs: Vec<Arc<Run>> = self
            .runs()
            .values()
            .filter(|run| caller.may_use(run))
            .cloned()
            .collect();
        let described: Result<Vec<Value>> = runs.iter().map(|run| run.ask(Request::Describe)).collect();
        Ok(json!({"runs": described?}))
    }
}

/// Ends this process as SIGTERM does: a caller that is not root cannot send the signal.
pub(super) fn end_process() -> Result<Value> {
    kill_process(getpid(), Signal::TERM).during(|| "ending".to_owned())?;
    Ok(json!({}))
}

/// Containers of a `destroy` that were running, although the engine removed them as stopped.
fn strays_of(params: &Value) -> Result<Vec<ContainerId>> {
    let strays = params.get("strays").cloned().unwrap_or_else(|| json!([]));
    serde_json::from_value(strays).map_err(|error| FabricError::malformed(format!("strays: {error}")))
}

/// Checks that packets fit the network between the hosts, and that no other run here uses the VXLAN
/// numbers.
fn check_tunnels(runs: &BTreeMap<RunId, Arc<Run>>, network: &Network) -> Result<()> {
    underlay::check(&network.description)?;
    let numbers_of = |network: &Network| {
        let hosts = network.description.hosts.as_ref();
        hosts.map(|hosts| hosts.vnis(network.division.vni_count()))
    };
    let Some(wanted) = numbers_of(network) else {
        return Ok(());
    };
    for (other, run) in runs {
        let taken = numbers_of(&run.network);
        if taken.is_some_and(|taken| taken.start < wanted.end && wanted.start < taken.end) {
            let limit = format!("outside the numbers of run {other}");
            let fix = "use other numbers, or wait until that run has ended";
            return Err(FabricError::bad(
                "network.hosts.first_vni",
                wanted.start,
                limit,
                fix,
            ));
        }
    }
    Ok(())
}

fn flag(params: &Value, name: &str) -> Result<bool> {
    match &params[name] {
        Value::Null => Ok(false),
        Value::Bool(value) => Ok(*value),
        other => Err(FabricError::bad(name, other, "true or false", "leave it out")),
    }
}

/// The owner that a `destroy` names, if any.
fn owner_of(params: &Value) -> Result<Option<&str>> {
    match &params["owner"] {
        Value::Null => Ok(None),
        Value::String(owner) => Ok(Some(owner)),
        other => Err(FabricError::bad("owner", other, "a text", "leave it out")),
    }
}

/// The server that a request names, by its id.
fn server_of(params: &Value) -> Result<u32> {
    let server = &params["server"];
    let id = server.as_u64().and_then(|id| u32::try_from(id).ok());
    id.ok_or_else(|| FabricError::bad("server", server, "a server's id", "give a number"))
}

/// Reads a whole number that is not negative.
fn whole_of(value: &Value, name: &str) -> Result<u64> {
    value.as_u64().ok_or_else(|| {
        FabricError::bad(
            name.to_owned(),
            value,
            "a whole number from 0 on",
            "give a number",
        )
    })
}

/// Reads a text that a request must have.
fn text_of(params: &Value, name: &str) -> Result<String> {
    let text = params[name].as_str();
    let missing = || FabricError::bad(name.to_owned(), &params[name], "a text", "give a string");
    text.map(str::to_owned).ok_or_else(missing)
}

/// Reads bytes that a request must have, in hexadecimal digits.
fn hex_of(params: &Value, name: &str) -> Result<Vec<u8>> {
    let text = text_of(params, name)?;
    let read = serde_json::from_value::<HexBytes>(Value::from(text.clone()));
    let wrong = |_| {
        FabricError::bad(
            name.to_owned(),
            text,
            "hexadecimal digits, two a byte",
            "write them so",
        )
    };
    read.map(|bytes| bytes.0).map_err(wrong)
}

fn run_of(params: &Value) -> Result<RunId> {
    match params["run"].as_str() {
        Some(text) => text.parse(),
        None => Err(FabricError::bad(
            "run",
            &params["run"],
            "the id of a run",
            "give the run's id",
        )),
    }
}

/// Number of servers within the limit of open files, after raising the limit as far as possible.
fn most_servers() -> usize {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return 16;
    };
    let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    let now = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(now, _)| now);
    ((now.saturating_sub(OWN_DESCRIPTORS) / DESCRIPTORS_PER_SERVER) as usize).min(MAX_SERVERS)
}
