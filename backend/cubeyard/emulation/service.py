"""What may be asked of a running session: faults, their preview, recovery, stop-all. The worker obeys within a tick."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy.orm import Session

from cubeyard.emulation import network as networks
from cubeyard.emulation import schemas
from cubeyard.emulation.damage import Damage
from cubeyard.emulation.faults import CARRIES, KINDS, Fault, Schedule, resolve
from cubeyard.emulation.hosts import Hosts
from cubeyard.emulation.inspection import inspect
from cubeyard.emulation.models import OrderRow
from cubeyard.emulation.network import Network
from cubeyard.emulation.prediction import predict
from cubeyard.emulation.question import read
from cubeyard.emulation.repository import OrderRepository
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import DEFAULT_LINK_GBPS, Emulation
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.kit.errors import ProblemError, not_found
from cubeyard.runs.models import RunRow
from cubeyard.runs.repository import FINISHED, RunRepository

Json = dict[str, Any]


def live_id(number: int) -> str:
    """The id of the so manieth fault that was asked for while the run was under way."""
    return f"l{number + 1}"


def resolve_live(engine: Engine, network: Network, asked: Json, number: int, seed: int) -> Fault:
    """The so manieth of those faults. Each draws by a seed of its own: the same words strike others the next time."""
    return resolve(engine, network, [asked], seed + 1 + number, [live_id(number)], "body")[0]


def network_of(engine: Engine, document: Json) -> Network:
    settings = Emulation.model_validate(document.get("emulation") or {})
    rate = (document.get("link_gbps") or DEFAULT_LINK_GBPS) * 1e9
    part = settings.slice.model_dump() if settings.slice is not None else None
    return networks.build(engine, document["plan"]["spec"], rate, settings.mtu_at(rate), part)


NEVER = "The run was over before it."


class Outliner:
    """Answers for experiments with real packets before any is sent."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def outline(self, document: Json) -> Json:
        question = read(self._engine, document)
        settings, estimate = question.settings, question.estimate
        secs = estimate.start_secs + settings.calibrate_secs + settings.settle_secs + settings.seconds
        return {
            "routing": question.prediction.routing,
            "flows": len(question.flows),
            "failed": _struck(question.schedule.faults),
            "secs": secs,
        }


class SessionService:
    def __init__(self, session: Session, engine: Engine) -> None:
        self._session = session
        self._engine = engine
        self._orders = OrderRepository(session)
        self._runs = RunRepository(session)

    def faults(self, run_id: str) -> schemas.FaultList:
        row, document = self._emulated(run_id)
        scheduled, live = self._known(row.id, network_of(self._engine, document), document)
        said = self._said(row.id)
        unsaid = {"state": "failed", "reason": NEVER} if row.state in FINISHED else {"state": "waiting"}
        items = []
        for fault in [*scheduled, *live]:
            frame = said.get(fault.id, unsaid)
            items.append(
                schemas.FaultState(
                    id=fault.id,
                    kind=fault.kind,
                    targets=fault.names,
                    at_secs=frame.get("at_secs", None if fault in live else fault.at_secs),
                    until_secs=frame.get("until_secs", fault.until_secs),
                    live=fault in live,
                    state=frame["state"],
                    reason=frame.get("reason", ""),
                )
            )
        return schemas.FaultList(items=items)

    def preview(self, run_id: str, asked: schemas.LiveFault) -> schemas.BlastRadius:
        """Nothing is broken by this."""
        row, document = self._emulated(run_id)
        network = network_of(self._engine, document)
        number, seed = len(self._orders.injected(row.id)), document["seeds"][0]
        fault = resolve_live(self._engine, network, asked.model_dump(mode="json"), number, seed)
        scheduled, live = self._known(row.id, network, document)
        said = self._said(row.id)
        broken = [one for one in (*scheduled, *live) if said.get(one.id, {}).get("state") == "injected"]
        ask = (self._engine, network, document["workload"], document.get("routing"), seed)
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
        row, document = self._under_way(run_id)
        payload = asked.model_dump(mode="json")
        number = len(self._orders.injected(row.id))
        network = network_of(self._engine, document)
        fault = resolve_live(self._engine, network, payload, number, document["seeds"][0])
        return self._order(row, "inject", fault.id, payload, _targets(fault))

    def recover(self, run_id: str, fault_id: str) -> schemas.Order:
        row, document = self._under_way(run_id)
        known = {f"f{i + 1}" for i in range(len(document["faults"]))}
        known |= {live_id(number) for number in range(len(self._orders.injected(row.id)))}
        if fault_id not in known:
            raise not_found(f"fault {fault_id} in run {run_id}")
        return self._order(row, "recover", fault_id, {})

    def server(self, run_id: str, name: str, hosts: Hosts) -> schemas.ServerState:
        """What a server of it knows now."""
        row, document = self._under_way(run_id)
        return inspect(hosts, network_of(self._engine, document), row.id, name)

    def stop_all(self, run_id: str) -> schemas.Order:
        row, _ = self._under_way(run_id)
        return self._order(row, "stop-all", "", {})

    def _order(
        self, row: RunRow, kind: Any, fault_id: str, payload: Json, targets: list[schemas.FaultTarget] | None = None
    ) -> schemas.Order:
        order = self._orders.add(OrderRow(run_id=row.id, kind=kind, fault_id=fault_id, payload=payload))
        return schemas.Order(
            id=order.id, run_id=row.id, kind=kind, fault=fault_id, targets=targets or [], created_at=order.created_at
        )

    def _known(self, run_id: str, network: Network, document: Json) -> tuple[list[Fault], list[Fault]]:
        """The run's faults: those that were scheduled, and those that were asked for while it was under way."""
        seed = document["seeds"][0]
        scheduled = Schedule.read(self._engine, network, document["faults"], seed).faults
        asked = enumerate(self._orders.injected(run_id))
        return scheduled, [resolve_live(self._engine, network, order.payload, number, seed) for number, order in asked]

    def _said(self, run_id: str) -> dict[str, Json]:
        """The last frame of each fault that has one, by the fault's id."""
        return {frame["id"]: frame for frame in self._orders.fault_frames(run_id)}

    def _emulated(self, run_id: str) -> tuple[RunRow, Json]:
        # Locked: two orders at the same time get different numbers.
        row = self._runs.run(run_id, lock=True)
        if row is None:
            raise not_found(f"run {run_id}")
        experiment = None
        if row.kind == "emulation" and row.experiment_id is not None:
            experiment = ExperimentRepository(self._session).experiment(row.experiment_id)
        if experiment is None:
            raise ProblemError(409, "no-emulation", f"Run {run_id} sends no packets: it is a {row.kind}.")
        return row, experiment.document

    def _under_way(self, run_id: str) -> tuple[RunRow, Json]:
        row, document = self._emulated(run_id)
        if row.state in FINISHED:
            raise ProblemError(409, "run-over", f"Run {run_id} is over: it {row.state}. Start another one.")
        return row, document


def _targets(fault: Fault) -> list[schemas.FaultTarget]:
    return [schemas.FaultTarget(kind=strike.kind, name=strike.name) for strike in fault.strikes]


def _struck(faults: list[Fault]) -> Json:
    """How many things are to fail, and how many links to go on worse, each once however often."""
    strikes = [strike for fault in faults for strike in fault.strikes]
    struck = {("degraded" if one.kind in CARRIES else KINDS[one.kind], one.name) for one in strikes}
    count = Counter(one_class for one_class, _ in struck)
    return {
        "servers": count["server"],
        "switches": count["switch"],
        "links": count["link"],
        "degraded_links": count["degraded"],
    }
