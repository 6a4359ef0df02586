"""The setup of a session: reads an experiment's document once, and checks it against the machine's
limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cubeyard.emulation.faults.damage import WHOLE, Damage
from cubeyard.emulation.faults.faults import Schedule
from cubeyard.emulation.network import network as networks
from cubeyard.emulation.network.network import Network
from cubeyard.emulation.network.programs import programmed
from cubeyard.emulation.network.services import hosted
from cubeyard.emulation.setup.estimate import Estimate, estimate, refuse_oversize
from cubeyard.emulation.setup.flows import Flow, flows_of
from cubeyard.emulation.setup.prediction import Prediction, predict
from cubeyard.emulation.setup.requests import Requests, requests_of
from cubeyard.emulation.setup.untestable import refuse_too_short, refuse_unmeasured
from cubeyard.emulation.setup.upgrade import Upgrade, network_of, planned
from cubeyard.emulation.setup.user_images import Beside, beside_of
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import DEFAULT_LINK_GBPS, Emulation
from cubeyard.experiments.hypotheses import Hypothesis, claims_of

Json = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """Everything that is decided before the first packet."""

    network: Network
    seed: int
    settings: Emulation
    workload: Json
    flows: list[Flow]
    prediction: Prediction
    """The prediction for the whole network without faults."""
    schedule: Schedule
    estimate: Estimate
    predicted_with: Callable[[Damage], Prediction] | None
    """Computes the prediction with faults; None for relayed data, whose edges are fixed."""
    rates_over: Callable[[list[list[int]]], list[float]]
    """Computes max-min fair rates of flows over given paths of server ids, in bits per second
    including headers."""
    hypotheses: list[Hypothesis] = field(default_factory=list)
    upgrade: Upgrade | None = None
    """The upgrade during the run."""
    requests: Requests | None = None
    """The requests, if flows are requests and responses."""
    beside: dict[int, Beside] = field(default_factory=dict)
    """Users' programs in second containers, by server."""

    @property
    def in_user_space(self) -> bool:
        return networks.in_user_space(self.network, self.settings.dataplane)


def read(engine: Engine, document: Json) -> Question:
    """Reads the question from an experiment's document. Raises a 422 that names the field."""
    settings = Emulation.model_validate(document.get("emulation") or {})
    rate = (document.get("link_gbps") or DEFAULT_LINK_GBPS) * 1e9
    before, network = network_of(engine, document["plan"]["spec"], settings, rate)
    upgrade = None
    if settings.upgrade is not None:
        upgrade = planned(engine, before, network, settings.upgrade, settings.seconds)
    network = networks.with_gateways(network, settings.gateways)
    networks.check_settings(network, settings.timers)
    networks.check_dataplane(network, settings.dataplane, engine.hosts)
    networks.check_balance(network, settings.balance)
    networks.check_transport(network, settings)
    network = hosted(engine, network, settings.services)
    network = programmed(engine, network, settings.dataplane, settings.chip_program, "body.emulation.chip_program")
    beside = beside_of(network, settings.images, engine.image_registries)
    refuse_oversize(network, settings, engine.hosts, len(beside))
    seed = document["seeds"][0]
    schedule = Schedule.read(engine, network, document["faults"], seed)
    hypotheses = [Hypothesis.model_validate(claim.model_dump()) for claim in claims_of(document)]
    refuse_too_short(settings, schedule.faults, upgrade, hypotheses)

    requests = requests_of(engine, network, document["workload"], seed, settings)
    refuse_unmeasured(settings, hypotheses, has_requests=requests is not None)
    workload = document["workload"] if requests is None else requests.matrix(network)
    # A response has the ports of its request.
    numbers = None if requests is None else [number - number % 2 for number in range(len(requests.ends))]

    def predicted_with(damage: Damage) -> Prediction:
        result = predict(engine, network, workload, document.get("routing"), seed, settings, damage, numbers)
        return result if requests is None else requests.predicted(result, network)

    prediction = predicted_with(Damage.of(upgrade.missing) if upgrade is not None else WHOLE)
    flows = flows_of(engine, network, prediction, settings, document["workload"])
    relayed = settings.delivery != "unicast"
    if relayed:
        prediction = prediction.relayed(network, [(flow.source, flow.destination) for flow in flows])
    expected = estimate(network, settings, flows, engine.hosts, len(beside))
    return Question(
        network,
        seed,
        settings,
        document["workload"],
        flows,
        prediction,
        schedule,
        expected,
        None if relayed else predicted_with,
        lambda paths: [
            rates_over_path * 1e9
            for rates_over_path in engine.rates_over_paths(network.spec, paths, network.rate_bits_per_sec / 1e9)
        ],
        hypotheses,
        upgrade,
        requests,
        beside,
    )
