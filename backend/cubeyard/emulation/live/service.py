"""Requests to a live session: faults, their preview, recovery, stop-all, inspection.

Reads take no lock, because the worker needs the run's row for each tick that it writes. Orders lock
the row, so that their numbers are unique and they are committed in the order of their ids, in which
the worker reads them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from cubeyard.emulation.deploy.names import shell_command
from cubeyard.emulation.deploy.probe import refuse_impossible
from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.faults.damage import Damage
from cubeyard.emulation.faults.faults import NEVER, Fault, Schedule, resolve
from cubeyard.emulation.faults.impossible import kinds_of
from cubeyard.emulation.live import schemas
from cubeyard.emulation.live.captures import CaptureService, Target, target_of
from cubeyard.emulation.live.chips.calls import ServerChip
from cubeyard.emulation.live.inspection import inspect, inspect_switch, server_of
from cubeyard.emulation.live.models import OrderRow
from cubeyard.emulation.live.packets.filters import wanted
from cubeyard.emulation.live.packets.schemas import StreamRequest
from cubeyard.emulation.live.packets.streams import Watched
from cubeyard.emulation.live.programs import Commit, running
from cubeyard.emulation.live.repository import CaptureRepository, EventRepository, OrderRepository
from cubeyard.emulation.live.services import Message, check_message, services_of
from cubeyard.emulation.network.network import Network, in_user_space
from cubeyard.emulation.network.programs import programmed
from cubeyard.emulation.network.services import with_services
from cubeyard.emulation.setup.prediction import predict
from cubeyard.emulation.setup.question import read
from cubeyard.emulation.setup.upgrade import network_of as run_network
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import DEFAULT_LINK_GBPS, Emulation
from cubeyard.experiments.fault_kinds import KINDS
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.errors import ProblemError, not_found
from cubeyard.runs.models import RunRow
from cubeyard.runs.repository import FINISHED, RunRepository
from cubeyard.settings import EmulationCluster, Settings

Json = dict[str, Any]


def resolve_live(engine: Engine, network: Network, asked: Json, number: int, seed: int) -> Fault:
    """Resolves fault `l<number>` (from 1) of the faults injected by hand into a live run.

    Each fault draws its targets with a different seed, so that a repeated request affects other
    devices. Raises a 422 that names the field.
    """
    return resolve(engine, network, [asked], seed + number, [f"l{number}"], "body")[0]


def live_fault(engine: Engine, network: Network, order: OrderRow, seed: int) -> Fault:
    """The fault of an `inject` order, with the targets that were resolved when the order was
    written."""
    if order.fault is not None:
        return Fault.read(order.fault)
    return resolve_live(engine, network, order.payload, int(order.fault_id[1:]), seed)


def network_of(engine: Engine, document: Json) -> Network:
    settings = Emulation.model_validate(document.get("emulation") or {})
    rate = (document.get("link_gbps") or DEFAULT_LINK_GBPS) * 1e9
    _, network = run_network(engine, document["plan"]["spec"], settings, rate)
    return with_services(network, [item.name for item in settings.services])


ROUTES = ("controllers", "tor-uplinks", "tor-weights", "routes", "groups")
"""Names of the sections in a node's inspection that show its routes, and the data from which their
weights follow."""


@dataclass(frozen=True)
class TerminalPlace:
    """In which server, and where, a shell is opened."""

    run_id: str
    server: tuple[int, str]
    """Id and name of the server."""
    host_name: str
    host: Host
    mode: str


class Outliner:
    """Answers for experiments with real packets, before any packet is sent."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings

    def refuse_impossible(self, document: Json) -> None:
        """Raises a 422 for a fault that this machine cannot inject."""
        refuse_impossible(self._settings, kinds_of(document))

    def outline(self, document: Json) -> Json:
        question = read(self._engine, document)
        settings, estimate = question.settings, question.estimate
        secs = estimate.start_secs + settings.calibrate_secs + settings.settle_secs + settings.seconds
        return {
            "routing": question.prediction.routing,
            "flows": len(question.flows),
            "failed": _struck(question.schedule.faults),
            "secs": secs,
            "servers": len(question.network.servers),
            "switches": len(question.network.switches),
            "links": len(question.network.links),
        }


class SessionService:
    def __init__(self, session: Session, engine: Engine) -> None:
        self._session = session
        self._engine = engine
        self._orders = OrderRepository(session)
        self._runs = RunRepository(session)
        self._log = ChangeLog(session)
        self.captures = CaptureService(CaptureRepository(session), self._log)

    def faults(self, run_id: str) -> schemas.FaultList:
        """The faults of a run and their states. Raises a 404, a 409 for a run of another engine."""
        row, document = self._emulated(run_id)
        scheduled, live = self._known(row.id, network_of(self._engine, document), document)
        message = self._said(row.id)
        unsaid = {"state": "failed", "reason": NEVER} if row.state in FINISHED else {"state": "waiting"}
        items = []
        for fault in [*scheduled, *live]:
            frame = message.get(fault.id, unsaid)
            items.append(
                schemas.FaultState(
                    id=fault.id,
                    kind=fault.kind,
                    targets=fault.names,
                    at_secs=frame.get("planned_secs", None if fault in live else fault.at_secs),
                    until_secs=frame.get("until_secs", fault.until_secs),
                    live=fault in live,
                    state=frame["state"],
                    reason=frame.get("reason", ""),
                )
            )
        return schemas.FaultList(items=items)

    def preview(self, run_id: str, asked: schemas.LiveFault) -> schemas.BlastRadius:
        """The parts that a fault would cut off. Injects nothing. Raises a 404, a 409 for a run of
        another engine, and a 422."""
        row, document = self._emulated(run_id)
        network = network_of(self._engine, document)
        number, seed = len(self._orders.injected(row.id)) + 1, document["seeds"][0]
        fault = resolve_live(self._engine, network, asked.model_dump(mode="json"), number, seed)
        scheduled, live = self._known(row.id, network, document)
        message = self._said(row.id)
        broken = [item for item in (*scheduled, *live) if message.get(item.id, {}).get("state") == "injected"]
        settings = Emulation.model_validate(document.get("emulation") or {})
        ask = (self._engine, network, document["workload"], document.get("routing"), seed, settings)
        before = predict(*ask, Damage.of(broken))
        after = predict(*ask, Damage.of([*broken, fault]))
        return schemas.BlastRadius(
            targets=_targets(fault),
            flows=len(after.rates_bits_per_sec),
            lost_flows=after.dropped_flows,
            abt_bits_per_sec=after.abt_bits_per_sec,
            abt_before_bits_per_sec=before.abt_bits_per_sec,
            goodput_bits_per_sec=after.ideal_bits_per_sec,
            goodput_before_bits_per_sec=before.ideal_bits_per_sec,
        )

    def inject(self, run_id: str, asked: schemas.LiveFault) -> schemas.Order:
        """Orders a fault. Raises a 404, a 409 unless the run is live, a 422 for a target that the
        run does not have."""
        _, document = self._under_way(run_id)
        network = network_of(self._engine, document)  # before the lock: it may take long
        row, _ = self._under_way(run_id, lock=True)
        payload = asked.model_dump(mode="json")
        number = len(self._orders.injected(row.id)) + 1
        fault = resolve_live(self._engine, network, payload, number, document["seeds"][0])
        return self._order(row, "inject", fault.id, payload, fault)

    def recover(self, run_id: str, fault_id: str) -> schemas.Order:
        """Orders the recovery of a fault. Raises a 404 for an unknown run or fault, a 409 unless
        the run is live."""
        row, document = self._under_way(run_id, lock=True)
        known = {f"f{i + 1}" for i in range(len(document["faults"]))}
        known |= {order.fault_id for order in self._orders.injected(row.id)}
        if fault_id not in known:
            raise not_found(f"fault {fault_id} in run {run_id}")
        return self._order(row, "recover", fault_id, {})

    def server(self, run_id: str, name: str, hosts: Hosts) -> schemas.ServerState:
        """The current state of one server. Raises a 404, a 409 if the run has ended or the server
        does not respond, a 503."""
        row, document = self._under_way(run_id)
        return inspect(self._placed(row, hosts), network_of(self._engine, document), row.id, name, _mode(document))

    def services(self, run_id: str) -> schemas.ServiceList:
        """The services that the run's servers host. Raises a 404, a 409 for a run of another
        engine."""
        _, document = self._emulated(run_id)
        return services_of(network_of(self._engine, document))

    def message(self, run_id: str, service: str, asked: schemas.ServiceMessage) -> Message:
        """Checks a message, and prepares it for sending now. Raises a 404, a 409 unless packets
        flow and the servers host services, a 422."""
        row, document = self._under_way(run_id)
        network = network_of(self._engine, document)
        servers = check_message(network, service, asked)
        if not EventRepository(self._session).flowing(row.id):
            detail = f"The servers of run {run_id} are not ready: wait until its traffic flows, then send again."
            raise ProblemError(409, "not-flowing", detail)
        every = asked.server is None
        placed = EventRepository(self._session).placed(row.id)
        return Message(row.id, network, service, asked.message, servers, every=every, after=row.last_seq, placed=placed)

    def running_program(self, run_id: str, hosts: Hosts) -> schemas.ChipProgramState:
        """The current program of the servers' chips. Raises a 404, a 409 if the run has ended, a
        503 without a fabric."""
        row, document = self._under_way(run_id)
        return running(self._placed(row, hosts), network_of(self._engine, document), row.id)

    def program(self, run_id: str, asked: schemas.ChipProgramCommit) -> Commit:
        """Checks a program, and prepares its commit for now. Raises a 404, a 409 unless packets
        flow, a 422 with line and column."""
        row, document = self._under_way(run_id)
        network, dataplane = network_of(self._engine, document), document["emulation"]["dataplane"]
        network = programmed(self._engine, network, dataplane, asked.program, "body.program")
        if not EventRepository(self._session).flowing(row.id):
            detail = f"The servers of run {run_id} are not ready: wait until its traffic flows, then commit again."
            raise ProblemError(409, "not-flowing", detail)
        return Commit(row.id, network, asked.program, EventRepository(self._session).placed(row.id))

    def chip(self, run_id: str, name: str, hosts: Hosts) -> ServerChip:
        """The chip of one server. Raises a 404, a 409 for a run that has ended."""
        row, document = self._under_way(run_id)
        network = network_of(self._engine, document)
        server_of(network, row.id, name)
        software = in_user_space(network, document["emulation"]["dataplane"])
        return ServerChip(self._placed(row, hosts), network, row.id, name, in_user_space=software)

    def switch(self, run_id: str, name: str, hosts: Hosts) -> schemas.SwitchState:
        """The current routes of one switch. Raises a 404, a 409 if the run has ended, a 503 without
        a fabric."""
        row, document = self._under_way(run_id)
        return inspect_switch(self._placed(row, hosts), network_of(self._engine, document), row.id, name)

    def routes(self, run_id: str, name: str, hosts: Hosts) -> Json:
        """The routes of a switch or server: `{run_id, node, id, sections}`. Raises a 404, a 409 for
        a run that has ended or a node that does not respond, a 503."""
        row, document = self._under_way(run_id)
        network, hosts = network_of(self._engine, document), self._placed(row, hosts)
        is_server = network.id_of.get(name) in network.servers
        known = (
            inspect(hosts, network, row.id, name, _mode(document))
            if is_server
            else inspect_switch(hosts, network, row.id, name)
        )
        sections = [section.model_dump(mode="json") for section in known.sections if section.name in ROUTES]
        return {"run_id": row.id, "node": name, "id": known.id, "sections": sections}

    def capture(
        self, run_id: str, hosts: Hosts, asked: schemas.CaptureRequest
    ) -> tuple[schemas.Capture, Target, schemas.CaptureLimits]:
        """Adds a capture, which must be made after the commit. Raises a 404, a 409 if the run is
        not live or has too many captures, a 422 for a target that the run does not have."""
        row, document = self._under_way(run_id)
        target = target_of(self._placed(row, hosts), network_of(self._engine, document), asked)
        made = self.captures.start(row.id, target, asked)
        return self.captures.described(made), target, asked

    def list_captures(self, run_id: str) -> schemas.CaptureList:
        """Raises a 404, a 409 for a run of another engine."""
        row, _ = self._emulated(run_id)
        return self.captures.of_run(row.id)

    def shell(self, run_id: str, name: str, cluster: EmulationCluster | None) -> str:
        """The command that opens a shell in a server. Raises a 404 for an unknown run or server, a
        409 unless the run is live."""
        row, document = self._under_way(run_id)
        server = server_of(network_of(self._engine, document), row.id, name)
        return shell_command(row.id, server, name, _mode(document), cluster)

    def terminal(self, run_id: str, name: str, hosts: Hosts) -> TerminalPlace:
        """Where a shell in a server would be opened. Raises a 404 for an unknown run or server, a
        409 unless the run is live."""
        row, document = self._under_way(run_id)
        network = network_of(self._engine, document)
        server = server_of(network, row.id, name)
        spread = self._placed(row, hosts).spread(network)
        host = spread.hosts[spread.host_of[server]]
        return TerminalPlace(row.id, (server, name), network.host_names.get(server, name), host, _mode(document))

    def terminal_opened(self, place: TerminalPlace) -> None:
        """Records in the change log that a shell was opened."""
        self._log.record("terminal", "opened", place.run_id, place.server[1], f"run {place.run_id}")

    def watched(self, run_id: str, hosts: Hosts, asked: StreamRequest) -> Watched:
        """Prepares a packet stream and records it in the change log. Raises a 404, a 409 unless the
        run is live, a 422 for a link, port or host that the run does not have."""
        row, document = self._under_way(run_id)
        network = network_of(self._engine, document)
        target = target_of(self._placed(row, hosts), network, asked, "query")
        result = Watched(row.id, network, target, asked, wanted(network, asked))
        self._log.record("capture", "opened", row.id, target.name, f"live, run {row.id}")
        return result

    def stop_all(self, run_id: str) -> schemas.Order:
        """Orders the recovery of all faults. Raises a 404, a 409 unless the run is live."""
        row, _ = self._under_way(run_id, lock=True)
        return self._order(row, "stop-all", "", {})

    def upgrade(self, run_id: str) -> schemas.Order:
        """Orders the start of the upgrade. Raises a 404, a 409 unless the run is live and has an
        upgrade."""
        row, document = self._under_way(run_id, lock=True)
        if not (document.get("emulation") or {}).get("upgrade"):
            raise ProblemError(
                409, "no-upgrade", "The run has no plan to be upgraded to. Give emulation.upgrade when it starts."
            )
        return self._order(row, "upgrade", "", {})

    def _order(self, row: RunRow, kind: Any, fault_id: str, payload: Json, fault: Fault | None = None) -> schemas.Order:
        document = fault.document() if fault is not None else None
        order = self._orders.add(OrderRow(run_id=row.id, kind=kind, fault_id=fault_id, payload=payload, fault=document))
        targets = _targets(fault) if fault is not None else []
        return schemas.Order(
            id=order.id, run_id=row.id, kind=kind, fault=fault_id, targets=targets, created_at=order.created_at
        )

    def _placed(self, row: RunRow, hosts: Hosts) -> Hosts:
        return hosts.of_run(EventRepository(self._session).placed(row.id))

    def _known(self, run_id: str, network: Network, document: Json) -> tuple[list[Fault], list[Fault]]:
        """The run's faults: the scheduled ones, and those injected by hand."""
        seed = document["seeds"][0]
        scheduled = Schedule.read(self._engine, network, document["faults"], seed).faults
        return scheduled, [live_fault(self._engine, network, item, seed) for item in self._orders.injected(run_id)]

    def _said(self, run_id: str) -> dict[str, Json]:
        """The last frame of each fault, by the fault's id."""
        return {frame["id"]: frame for frame in self._orders.fault_frames(run_id)}

    def _emulated(self, run_id: str, *, lock: bool = False) -> tuple[RunRow, Json]:
        """A run and its experiment's document. Raises a 404, or a 409 for a run of another
        engine."""
        row = self._runs.run(run_id, lock=lock)
        if row is None:
            raise not_found(f"run {run_id}")
        experiment = None
        if row.kind == "emulation" and row.experiment_id is not None:
            experiment = ExperimentRepository(self._session).experiment(row.experiment_id)
        if experiment is None:
            raise ProblemError(409, "no-emulation", f"Run {run_id} sends no packets: it is a {row.kind}.")
        return row, experiment.document

    def _under_way(self, run_id: str, *, lock: bool = False) -> tuple[RunRow, Json]:
        """As `_emulated`, but raises a 409 if the run has ended."""
        row, document = self._emulated(run_id, lock=lock)
        if row.state in FINISHED:
            raise ProblemError(409, "run-over", f"Run {run_id} is over: it {row.state}. Start another one.")
        return row, document


def _mode(document: Json) -> str:
    return Emulation.model_validate(document.get("emulation") or {}).mode


def _targets(fault: Fault) -> list[schemas.FaultTarget]:
    return [schemas.FaultTarget(kind=strike.kind, name=strike.name) for strike in fault.strikes]


def _struck(faults: list[Fault]) -> Json:
    """How many parts the faults make fail, and how many links they degrade; each is counted
    once."""
    strikes = [strike for fault in faults for strike in fault.strikes]
    struck = {
        ("degraded" if KINDS[strike.kind].carries else KINDS[strike.kind].target, strike.name) for strike in strikes
    }
    count = Counter(one_class for one_class, _ in struck)
    return {
        "servers": count["server"],
        "switches": count["switch"],
        "links": count["link"],
        "degraded_links": count["degraded"],
    }
