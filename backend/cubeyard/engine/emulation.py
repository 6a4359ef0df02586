"""What an emulation needs before its first packet: its network, its protocols, its flows' paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from cubeyard.built_plan import Json
from cubeyard.engine.call import Calls, as_text, binding, calling


class Emulations(Calls):
    @property
    def hosts(self) -> int:
        """How many machines emulations are spread over by the settings, at most; 0 for this one
        alone."""
        return self._settings.most_hosts

    @property
    def image_registries(self) -> frozenset[str] | None:
        """Where images of users may come from; None where emulations may have none."""
        return self._settings.registries if self._settings.user_images else None

    def emulation_network(self, spec: Mapping[str, Any], slice: Mapping[str, Any] | None = None) -> Json:
        """The network that is emulated: the plan's topology, or the slice `{servers: [names]}` or
        `{within: name, k}` of it.
        `{servers: [{id, name, host, address, digits}], switches: [{id, name, host, level, digits}], links: [{id, a: [node, port], b: [node, port], level, rate_ratio}], outside: [names], whole, picture, slowest_bits_per_sec}`;
        ids are the whole plan's, `picture` says how a diagram arranges nodes by their digits,
        `rate_ratio` how many times faster than the slowest link one is. Raises PlanRejectedError:
        findings with `where` (`slice.servers.0`, `slice.within`, `slice`, or a field of the plan),
        `value`, `limit`, `message` and `hint`.
        """
        text = None if slice is None else as_text(slice)
        with self._call("emulation_network"):
            return orjson.loads(binding().emulation_network(as_text(spec), text))

    def emulation_profile(self, spec: Mapping[str, Any]) -> Json:
        """What can be emulated of a topology and how: its protocols with their forwardings, header
        bytes, settings and services.

        `{family, supported, refusal, default_protocol, protocols, transports, slice, addresses, max_servers}`;
        `refusal` is null, or `{field, value, limit, message, hint}`. Raises PlanRejectedError for a
        spec that is not valid.
        """
        with self._call("emulation_profile"):
            return orjson.loads(binding().emulation_profile(as_text(spec)))

    def routed_flows(self, spec: Mapping[str, Any], run: Mapping[str, Any]) -> tuple[list[list[int]], list[float]]:
        """Of an emulation's flows through routers: the ids of the nodes of each one's path, and its
        max-min fair rate over these paths in Gb/s. A flow without a path has an empty one and the
        rate 0.

        `run`:
        `{slice, faults, seed, balance, link_gbps, protocol, flows: [[number, source, destination]]}`;
        `link_gbps` is the slowest link's rate, `protocol` IP's number. With `subflows` (0 for the
        default) flows are MPTCP: the path is that of the first subflow, the rate that of all.
        Raises PlanRejectedError with findings.
        """
        with calling():
            result = orjson.loads(binding().routed_flows(as_text(spec), as_text(run)))
        return result["paths"], result["gbps"]
