"""Reduces a plan that is too large for an emulation: to a slice, a small plan of the family, or a
part of a custom network.

Settings of the user are kept. The size is reduced first, then a workload without parameters:
all-to-all becomes permutation. Settings that name devices outside the part are listed, for the user
to decide. Page, REST and command line all use this function, so that they agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from math import isqrt
from typing import Any, Literal

import orjson

from cubeyard.emulation.network.network import topology_of
from cubeyard.emulation.setup.estimate import most_servers
from cubeyard.emulation.setup.fitting.outside import LeftOut, read_inside, refuse_unknown
from cubeyard.emulation.setup.fitting.part import part_around_busiest
from cubeyard.emulation.setup.fitting.smaller import smaller
from cubeyard.emulation.setup.prediction import MAX_FLOWS
from cubeyard.emulation.setup.question import Question, read
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import Slice
from cubeyard.kit.errors import ProblemError, field_error

Json = dict[str, Any]
Kind = Literal["whole", "slice", "smaller", "part"]

LEAST_SERVERS, MOST_SERVERS = 16, 64
ALL_TO_ALL = {"kind": "all-to-all"}
MOST_OF_ALL_TO_ALL = (1 + isqrt(1 + 4 * MAX_FLOWS)) // 2
"""Maximum number of servers in an all-to-all, given the maximum number of flows."""
BOUNDS = (MOST_SERVERS, MOST_OF_ALL_TO_ALL, 32, 24)
"""Limits for the number of servers, tried in this order."""
TINY = [(2, 15)]
"""Limits for a machine without memory for sixteen servers."""
SMALLEST = [(2, most) for most in (3, 5, 9, 15, 24)]
"""Limits tried if the requested number of servers is too small, to suggest a larger one."""
TRIED = 2
"""Number of networks tried for each limit, the most similar first."""
MOST_READ = 16
"""Maximum number of networks that are checked for one answer."""
MAX_SLICE_K = 3
"""The largest value of `emulation.slice.k`."""
ANOTHER = "Give another number of servers to take another."


@dataclass(frozen=True)
class Fit:
    """An experiment that can be run, and how it differs from the original one."""

    kind: Kind
    document: Json
    """The document for `question.read`, without the settings in `outside`."""
    question: Question
    servers: int
    of_servers: int
    sentence: str
    """A sentence that names the chosen part and how to choose another; empty if the whole plan is
    used."""
    outside: list[LeftOut] = field(default_factory=list)
    """Settings that name devices outside the part. They are removed from the document, which the
    user must confirm."""


@dataclass(frozen=True)
class _Choice:
    """A network that could be used."""

    kind: Kind
    document: Json
    words: str
    """A description in front of the number of servers, such as `the part around leaf-3`."""
    outside: list[LeftOut] = field(default_factory=list)
    why: str = ""
    """A sentence about its workload, if that differs from the original experiment's."""


def fit(engine: Engine, document: Json, servers: int | None = None) -> Fit:
    """Fits an experiment's document to this machine, with at most `servers` if given. Returns the
    document itself if it can run.

    Uses the first possible choice for which the estimate finds enough processors, else the first
    one. Raises a 422 for errors that do not depend on the size, and for a machine that cannot carry
    even two servers.
    """
    refuse_unknown(engine, document)
    size = engine.size(topology_of(document["plan"]["spec"]))
    refused: ProblemError | None = None
    if servers is None and _may_be_whole(engine, document, size["servers"]):
        try:
            question = read(engine, document)
            return Fit("whole", document, question, len(question.network.servers), size["servers"], "")
        except ProblemError as error:
            if not _is_about_size(error):
                raise
            refused = error
    if servers is not None:
        document = _without_own_k(document)
    for bounds in (_bounds(servers, size["servers"]), SMALLEST if servers else TINY):
        choices = islice(_all_choices(engine, document, bounds), MOST_READ)
        result, error = _best(engine, choices, size["servers"], any_load=servers is not None)
        if result is not None and servers is not None and result.servers > servers:
            raise field_error(
                "body.servers",
                servers,
                f"The smallest part of this plan, or plan of its family, that can be taken has {result.servers} servers.",
                limit=f"at least {result.servers}",
                hint=f"Ask for {result.servers} servers.",
            )
        if result is not None:
            return result
        refused = error or refused
    raise refused or field_error(
        "body.plan", size["servers"], "No part of this plan can be emulated.", hint="Take another plan, or predict it."
    )


def _best(
    engine: Engine, choices: Iterable[_Choice], of_servers: int, *, any_load: bool
) -> tuple[Fit | None, ProblemError | None]:
    """The first choice for which this machine has enough processors, else the first that can run;
    and the last refusal."""
    first: Fit | None = None
    refused: ProblemError | None = None
    for choice in choices:
        try:
            question, kept, outside = read_inside(engine, choice.document)
        except ProblemError as error:
            if not _is_about_size(error):
                raise
            refused = error
            continue
        result = _fit(choice, question, kept, outside, of_servers)
        if any_load or question.estimate.cpu <= 1:
            return result, None
        first = first or result
    return first, refused


def _without_own_k(document: Json) -> Json:
    """The document without the level of its slice: a number of servers that was given later
    replaces it."""
    settings = document.get("emulation") or {}
    if not (settings.get("slice") or {}).get("within"):
        return document
    return {**document, "emulation": {**settings, "slice": {**settings["slice"], "k": MAX_SLICE_K}}}


def _all_choices(engine: Engine, document: Json, bounds: list[tuple[int, int]]) -> Iterator[_Choice]:
    """All choices in order. The size is reduced first, then the workload changed. If there are
    slices, small plans are not considered."""
    sliced = list(_slices(engine, document, bounds))
    for variant, why in _workloads(document):
        result: Iterable[_Choice] = sliced or chain.from_iterable(
            _choices(engine, document, least, most) for least, most in bounds
        )
        seen: list[Json] = []
        for choice in result:
            if choice.document not in seen:
                seen.append(choice.document)
                workload = {**choice.document, "workload": variant["workload"]}
                yield replace(choice, document=workload, why=why)


def _fit(choice: _Choice, question: Question, document: Json, outside: list[LeftOut], of_servers: int) -> Fit:
    count = len(question.network.servers)
    sizes = f"{count:,} of {of_servers:,} servers"
    if choice.kind == "part":
        sizes += f", {len(question.network.switches)} switches"
    if choice.kind == "smaller":
        sizes = f"{count:,} servers instead of {of_servers:,}"
    sentences = [f"Takes {choice.words}: {sizes}.", choice.why, ANOTHER]
    return Fit(
        choice.kind,
        document,
        question,
        count,
        of_servers,
        " ".join(sentence for sentence in sentences if sentence),
        [*choice.outside, *outside],
    )


def _may_be_whole(engine: Engine, document: Json, servers: int) -> bool:
    """Whether the whole plan might fit. A large plan must not be built, or its flows predicted,
    just to find that it is too large."""
    settings = document.get("emulation") or {}
    most = most_servers(settings.get("mode", "containers"), engine.hosts)
    if document["workload"] == ALL_TO_ALL:
        most = min(most, MOST_OF_ALL_TO_ALL)
    return servers <= most or settings.get("slice") is not None


def _is_about_size(error: ProblemError) -> bool:
    """Whether an error may disappear with a smaller network or another workload."""
    fields = [entry.field for entry in error.errors]
    return error.code == "too-large-emulation" or any(
        where.startswith(("body.plan", "body.emulation.slice"))
        or where in ("body.workload.kind", "body.workload.clients")
        for where in fields
    )


def _workloads(document: Json) -> Iterator[tuple[Json, str]]:
    """The document as it is, then with a simpler workload, each with a sentence about the
    workload."""
    yield document, ""
    if document["workload"] == ALL_TO_ALL:
        why = "The workload is a permutation: an all-to-all of so many servers is more than this machine carries."
        yield {**document, "workload": {"kind": "permutation"}}, why


def _bounds(servers: int | None, of_servers: int) -> list[tuple[int, int]]:
    """Pairs of the smallest and the largest number of servers, to be tried in order."""
    if servers is not None:
        return [(max(2, min(servers, of_servers) // 2), servers), (2, servers)]
    return [(min(LEAST_SERVERS, of_servers), most) for most in BOUNDS]


def _choices(engine: Engine, document: Json, least: int, most: int) -> Iterator[_Choice]:
    """Small plans of the family, or the part of a custom network, with `least` to `most`
    servers."""
    topology = topology_of(document["plan"]["spec"])
    if topology["family"] == "custom":
        yield from _part(document, topology, most)
        return
    for small in smaller(engine, topology, least, most)[:TRIED]:
        words = f"a small plan of the same family, {_title(engine, small)}"
        yield _of_plan("smaller", document, small, words)


def _part(document: Json, topology: Json, most: int) -> Iterator[_Choice]:
    part = part_around_busiest(topology, most)
    if part is not None:
        yield _of_plan("part", document, part.topology, f"the part around {part.rack}")


def _slices(engine: Engine, document: Json, bounds: list[tuple[int, int]]) -> Iterator[_Choice]:
    """Slices around a server with at least two levels, the largest first. If the user chose a
    server, slices around it, with at most the chosen levels."""
    topology = topology_of(document["plan"]["spec"])
    own = (document.get("emulation") or {}).get("slice") or {}
    profile = engine.emulation_profile(topology)
    max_k = profile["slice"]["around_max_k"]
    if own.get("servers") or max_k is None or not profile["supported"]:
        return
    highest = min(max_k, MAX_SLICE_K, topology["k"] - 1, own.get("k", MAX_SLICE_K))
    for within in [own["within"]] if own else _centres(document, topology):
        for k in range(highest, 0, -1):
            inner = {**{name: value for name, value in topology.items() if name != "servers"}, "k": k}
            servers = engine.size(inner)["servers"]
            if any(least <= servers <= most for least, most in bounds):
                part = Slice(within=within, k=k).model_dump()
                settings = {**(document.get("emulation") or {}), "slice": part}
                words = f"the {_title(engine, inner)} around server {within}"
                yield _Choice("slice", {**document, "emulation": settings}, words)


def _centres(document: Json, topology: Json) -> list[str]:
    """Servers that can be the centre of a slice: the first one named by the workload or a fault,
    and the plan's first."""
    workload = document["workload"]
    names = [workload.get("source"), workload.get("destination")]
    for fault in document["faults"]:
        names += fault["target"].get("names") or []
    # A link is named by its two ends, a switch in angle brackets.
    ends = [end for name in names if isinstance(name, str) for end in name.split("/")]
    named = [end for end in ends if end and not end.startswith("<")][:1]
    # The first server's address is all zeros; dots separate the digits if they can exceed 9.
    return [*named, ("" if topology["n"] <= 10 else ".").join("0" * (topology["k"] + 1))]


def _of_plan(kind: Kind, document: Json, topology: Json, words: str) -> _Choice:
    """The choice of a separate network. Racks, enclosures and pins belong to the original plan and
    are dropped; host names keep their prefix."""
    spec: Mapping[str, Any] = document["plan"]["spec"]
    small: Json = {"topology": topology}
    site = spec.get("site") or {}
    if site.get("host_prefix"):
        small["site"] = {"host_prefix": site["host_prefix"]}
    if spec.get("catalog"):
        small["catalog"] = spec["catalog"]
    pins = (spec.get("packaging") or {}).get("pins") or []
    outside = [
        LeftOut(f"plan.packaging.pins.{i}", _pinned(pin), "The part that is taken has racks of its own.")
        for i, pin in enumerate(pins)
    ]
    settings = {key: value for key, value in (document.get("emulation") or {}).items() if key != "slice"}
    return _Choice(
        kind, {**document, "plan": {"id": None, "revision": None, "spec": small}, "emulation": settings}, words, outside
    )


def _pinned(pin: Json) -> str:
    return f"{pin.get('device') or 'the rack'} in {pin['rack']}"


def _title(engine: Engine, topology: Json) -> str:
    return str(orjson.loads(engine.topology(topology).counts_json())["title"])
