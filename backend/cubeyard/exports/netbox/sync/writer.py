"""One model after the other in a NetBox: reads it, compares it with the wanted objects, and writes
the difference in several requests.

NetBox carries out a request fully or not at all. Without a response it is unknown whether it did,
and NetBox may still be working on it: the model is read and compared again, with smaller requests.
A dry run makes the same comparison; everything that belongs to an object that does not exist yet
counts as missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cubeyard.exports.netbox.sync import models
from cubeyard.exports.netbox.sync.client import NetboxBusyError, NetboxClient, NetboxError
from cubeyard.exports.netbox.sync.models import Key, Model, plain, same
from cubeyard.exports.netbox.sync.pace import Pace

Json = dict[str, Any]
PIECE = 100
MAX_TRIES = 8
"""Consecutive tries without progress, with increasing pauses: about two minutes in total."""
_MAX_PAUSE_SECS = 30.0
_MAX_REFUSALS = 3
"""Refusals after a request without a response: NetBox may complete that request before the next one
arrives."""
MAX_SHOWN = 20

Progress = Callable[[str, int, int], None]
"""Called with a model, the number of written objects, and the total."""
Before = Callable[[dict[Key, Json], dict[Key, Json], "ModelChange"], None]
_WHOLE_SITE = (models.RACKS, models.DEVICES)


@dataclass(slots=True)
class ModelChange:
    """The changes that a sync makes, or would make, to one model."""

    model: str
    wanted: int
    created: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    extra: int = 0
    """Objects of the plan's site that are not in the plan; they are not changed."""
    examples: list[str] = field(default_factory=list)
    """Descriptions of the first differences."""
    missing: list[int] = field(default_factory=list)
    """Indices, in the plan's order, of the wanted objects that did not exist."""
    differing: dict[int, int] = field(default_factory=dict)
    """The id of each existing object that differed, by its index in the plan's order."""
    doomed: list[int] = field(default_factory=list)
    """Ids of existing objects that conflict with the plan and are deleted."""

    @property
    def written(self) -> int:
        return self.created + self.changed + self.deleted

    def say(self, words: str) -> None:
        if len(self.examples) < MAX_SHOWN:
            self.examples.append(words)


class Writer:
    """Writes models into one NetBox, with at most `piece` objects per request."""

    def __init__(
        self,
        client: NetboxClient,
        dry_run: bool,
        piece: int,
        progress: Progress | None,
        pause: Callable[[float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client = client
        self.dry_run, self._piece, self._progress, self._pause, self._clock = dry_run, piece, progress, pause, clock
        self._made_up = 0

    def named(
        self, model: Model, rows: list[Any], name: str, query: Json | None = None, before: Before | None = None
    ) -> tuple[dict[str, int], ModelChange]:
        """Like `each`, with the ids by the names of the wanted objects."""
        result, change = self.each(model, rows, query, before)
        return {str(row[name]): result[model.key(row)]["id"] for row in rows}, change

    def each(
        self, model: Model, rows: Sequence[Json], query: Json | None = None, before: Before | None = None
    ) -> tuple[dict[Key, Json], ModelChange]:
        """Creates or updates all `rows`; returns the objects by key, with made-up negative ids in a
        dry run."""
        wanted = {model.key(row): _sent(row) for row in rows}
        change = ModelChange(model.title, len(wanted))
        pace = Pace(self._piece)
        tries = refusals_left = 0
        while True:
            done = change.written
            try:
                result = self._read(model, wanted, query)
                if before is not None:
                    before(wanted, result, change)
                self._write(model, wanted, result, change, pace)
                return result, change
            except NetboxError as error:
                if isinstance(error, NetboxBusyError):
                    refusals_left = _MAX_REFUSALS
                elif not refusals_left:
                    raise
                else:
                    refusals_left -= 1
                tries = 0 if change.written > done else tries + 1
                if tries >= MAX_TRIES:
                    raise
                self._wait(tries)

    def answer(self, path: str) -> Any:
        """Gets a path, with retries while NetBox is busy."""
        tries = 0
        while True:
            try:
                return self.client.call("GET", path)
            except NetboxBusyError:
                tries += 1
                if tries >= MAX_TRIES:
                    raise
                self._wait(tries)

    def in_pieces(self, items: Sequence[Any], write: Callable[[Sequence[Any]], None], pace: Pace | None = None) -> None:
        """Calls `write` with one piece after the other; a dry run does not call it."""
        pace = pace or Pace(self._piece)
        start = 0
        while start < len(items) and not self.dry_run:
            part = items[start : start + pace.size]
            begun = self._clock()
            try:
                write(part)
            except NetboxBusyError:
                pace.lost(self._clock() - begun)
                raise
            pace.took(len(part), self._clock() - begun)
            start += len(part)

    def _wait(self, tries: int) -> None:
        self._pause(min(2.0**tries / 2, _MAX_PAUSE_SECS))

    def _read(self, model: Model, wanted: Mapping[Key, Json], query: Json | None) -> dict[Key, Json]:
        """The existing objects by key; empty for a site, type or manufacturer that exists only in
        the dry run."""
        request = dict(query or {})
        for name, value in request.items():
            known = [item for item in value if item > 0] if isinstance(value, list) else value
            if known == [] or (isinstance(known, int) and known < 0):
                return {}
            request[name] = known
        if not wanted and not request:
            return {}
        return {model.key(item): item for item in map(plain, self.client.all(model.path, request))}

    def _write(
        self, model: Model, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange, pace: Pace
    ) -> None:
        missing = [key for key in wanted if key not in found]
        differing = _differing(model, wanted, found, change)
        before = change.created + change.changed
        change.unchanged = len(wanted) - len(missing) - len(differing) - before
        change.extra = sum(1 for key in found if key not in wanted) if model in _WHOLE_SITE else 0
        places = {key: place for place, key in enumerate(wanted)}
        change.missing = [places[key] for key in missing]
        change.differing = {places[key]: item["id"] for key, item in differing.items()}

        def tell() -> None:
            if self._progress is not None:
                done = change.created + change.changed
                self._progress(model.title, done, before + len(missing) + len(differing))

        def put_right(part: Sequence[Json]) -> None:
            self.client.change(model.path, part)
            change.changed += len(part)
            tell()

        def make(keys: Sequence[Key]) -> None:
            made = [plain(item) for item in self.client.create(model.path, [wanted[key] for key in keys])]
            self._made(keys, made, wanted, found, change)
            tell()

        self.in_pieces(list(differing.values()), put_right, pace)
        self.in_pieces(missing, make, pace)
        if self.dry_run:
            change.changed += len(differing)
            self._made(missing, [self._imagined(wanted[key]) for key in missing], wanted, found, change)

    @staticmethod
    def _made(
        keys: Sequence[Key],
        made: Sequence[Json],
        wanted: Mapping[Key, Json],
        found: dict[Key, Json],
        change: ModelChange,
    ) -> None:
        for key, item in zip(keys, made, strict=True):
            found[key] = item
            change.say(f"create {title_of(wanted[key], item)}")
        change.created += len(keys)

    def _imagined(self, wanted: Json) -> Json:
        self._made_up -= 1
        return {**wanted, "id": self._made_up}


def _differing(model: Model, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange) -> dict[Key, Json]:
    """Differences of the existing objects in fields that the plan owns: the id and the fields to
    set, by key."""
    out: dict[Key, Json] = {}
    for key, item in wanted.items() if model.owned else ():
        there = found.get(key)
        if there is None:
            continue
        fields = {name: item[name] for name in model.owned if name in item and not same(item[name], there.get(name))}
        if fields:
            out[key] = {"id": there["id"], **fields}
            before = {name: there.get(name) for name in fields}
            # Filling an empty field is not listed as a difference; replacing a value is.
            if any(value not in (None, "") for value in before.values()):
                change.say(f"change {title_of(item, there)}: {before} becomes {fields}")
    return out


def _sent(row: Mapping[str, Any]) -> Json:
    """A record in the form of the API: text from CSV files is converted to its value."""
    words = {"true": True, "false": False}
    return {name: words.get(value, value) if isinstance(value, str) else value for name, value in row.items()}


def title_of(wanted: Json, found: Json) -> str:
    return str(wanted.get("name") or wanted.get("model") or wanted.get("label") or found["id"])
