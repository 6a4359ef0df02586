"""The first frame of an attempt: the meaning of the columns of every tick, and the predicted
values."""

from __future__ import annotations

from typing import Any

from cubeyard.emulation.network.programs import is_programmable
from cubeyard.emulation.setup.question import Question
from cubeyard.emulation.setup.user_images import described as images_of

Json = dict[str, Any]


def described(question: Question) -> Json:
    """The payload of the `network` frame, without the part that the deployment adds."""
    network = question.network
    return {
        "family": network.family,
        "picture": network.picture,
        "spec": network.spec,
        "whole": network.whole,
        "gateways": network.gateways,
        "mode": question.settings.mode,
        "dataplane": question.settings.dataplane,
        "programmable": is_programmable(network, question.settings.dataplane),
        "rate_bits_per_sec": network.rate_bits_per_sec,
        "mtu": network.mtu,
        "seed": question.seed,
        "settle_secs": question.settings.settle_secs,
        "seconds": question.settings.seconds,
        "header_efficiency": round(network.header_efficiency, 4),
        "servers": {
            "id": list(network.servers),
            "name": list(network.servers.values()),
            "host_name": [network.host_names[server] for server in network.servers],
            "digits": [network.digits[server] for server in network.servers],
        },
        "switches": {
            "id": list(network.switches),
            "name": list(network.switches.values()),
            "host_name": [network.host_names[switch] for switch in network.switches],
            "level": [network.switch_levels[switch] for switch in network.switches],
            "digits": [network.digits[switch] for switch in network.switches],
        },
        "links": {
            "id": [link.id for link in network.links],
            "a": [link.a[0] for link in network.links],
            "b": [link.b[0] for link in network.links],
            "a_port": [link.a[1] for link in network.links],
            "b_port": [link.b[1] for link in network.links],
            "level": [link.level for link in network.links],
            **(
                {"rate_bits_per_sec": [network.rate_of(link) for link in network.links]}
                if network.has_several_rates
                else {}
            ),
        },
        "flows": {
            "source": [flow.source for flow in question.flows],
            "destination": [flow.destination for flow in question.flows],
            "ideal_bits_per_sec": [round(flow.ideal_bits_per_sec) for flow in question.flows],
            **({} if question.prediction.paths is None else {"path": question.prediction.paths}),
        },
        "predicted": question.prediction.document(),
        "schedule": [fault.described() for fault in question.schedule.faults],
        "estimate": question.estimate.document(),
        **({"images": images_of(question.beside)} if question.beside else {}),
        **({} if question.upgrade is None else {"upgrade": question.upgrade.described()}),
    }
