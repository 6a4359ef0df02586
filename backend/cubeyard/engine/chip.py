"""The switching chip: its programs, packets through them, and a chip without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from cubeyard.built_plan import Json
from cubeyard.engine.call import Calls, as_text, binding, calling

ChipServer = tuple[Mapping[str, Any], str | None]
"""A BCube and one of its servers, the first if none is named: a chip's program is executed for
it."""


class Chips(Calls):
    def chip_program(self, program: str, at: ChipServer | None = None) -> Json:
        """A program of the switching chip, from text or JSON, for a server if one is named:
        `{profile, udlks: [{i, fields, bytes}], tables: {name: {entries, size}}, vifs, never_matched: [{i, above}], text, document}`,
        the last two canonical. Raises PlanRejectedError: findings with `line` and `column` in the
        text, 0 where they have none."""
        with self._call("chip_program"):
            return orjson.loads(binding().chip_program(program, *_server(at)))

    def chip_check_servers(self, spec: Mapping[str, Any], ids: Sequence[int], program: str, *, in_kernel: bool) -> None:
        """Whether servers of a BCube, by id, can run a program that they share, with neighbours
        alive and dead. O(servers x what the program executes). Raises PlanRejectedError: findings
        with `line` and `column`."""
        with self._call("chip_check_servers"):
            binding().chip_check_servers(as_text(spec), list(ids), program, in_kernel)

    def chip_diff(self, before: str, after: str) -> list[Json]:
        """What differs between two programs: `[{what, before?, after?}]`. Raises
        PlanRejectedError."""
        with self._call("chip_diff"):
            return orjson.loads(binding().chip_diff(before, after))

    def chip_trace(self, program: str, in_port: int, packet: str, at: ChipServer | None = None) -> Json:
        """The steps of a packet, in hexadecimal digits, that comes into a chip by a port from 0
        to 7. Raises PlanRejectedError."""
        with self._call("chip_trace"):
            return orjson.loads(binding().chip_trace(program, in_port, packet, *_server(at)))

    def chip_bcube(self, spec: Mapping[str, Any], server: str | None = None) -> str:
        """The paper's BCube program as text: for one server, or the text that all servers share.
        Raises PlanRejectedError."""
        with self._call("chip_bcube"):
            return binding().chip_bcube(as_text(spec), server)

    def chip_walk(self, spec: Mapping[str, Any], source: str, destination: str, path: int) -> Json:
        """A packet through the chips of a BCube's servers, over one of their parallel paths:
        `{paths, path, visits: [{server, name, trace}], arrived}`. Raises PlanRejectedError."""
        with self._call("chip_walk"):
            return orjson.loads(binding().chip_walk(as_text(spec), source, destination, path))

    def chip_portland(self, source: str, destination: str, source_port: int, failures: Sequence[str]) -> Json:
        """PortLand on the 20 chips of a fat-tree of four ports, in virtual time:
        `{from: [address, pmac], to, attempts: [{state, at_micros, visits: [{switch, at_micros, kind, trace}], arrived}], pairs}`.
        Raises PlanRejectedError."""
        with self._call("chip_portland"):
            return orjson.loads(binding().chip_portland(source, destination, source_port, list(failures)))


def chip_model(program: str) -> Any:
    """A switching chip of one's own with a program (`ChipModel` of the binding). Raises
    PlanRejectedError."""
    with calling():
        return binding().ChipModel(program)


def _server(at: ChipServer | None) -> tuple[str | None, ...]:
    return (as_text(at[0]), at[1]) if at else ()
