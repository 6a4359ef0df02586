"""One model after the other in a NetBox: read it, compare it with what is wanted, and write the
difference in pieces.

NetBox does a request whole or not at all; when it does not answer, whether it did is not known, and
it may still be at work on it: the model is read and compared again, with smaller pieces. A dry run
makes the same comparison: whatever belongs to an object that does not exist yet would be created
too.
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
"""In a row without anything new done, with longer and longer pauses: about two minutes."""
_MAX_PAUSE_SECS = 30.0
_MAX_REFUSALS = 3
"""After a request without an answer: what NetBox was still at work on may be there by the time of
the next one."""
MAX_SHOWN = 20

Progress = Callable[[str, int, int], None]
"""Called with a model, how many objects are written, and of how many."""
Before = Callable[[dict[Key, Json], dict[Key, Json], "ModelChange"], None]
_WHOLE_SITE = (models.RACKS, models.DEVICES)


@dataclass(slots=True)
class ModelChange:
    """What a sync does, or would do, to one model."""

    model: str
    wanted: int
    created: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    extra: int = 0
    """Objects of the plan's site that the plan does not have; they are left alone."""
    examples: list[str] = field(default_factory=list)
    """The first differences, in words."""
    missing: list[int] = field(default_factory=list)
    """Which of the wanted objects, by their place in the plan's order, were not there."""
    differing: dict[int, int] = field(default_factory=dict)
    """The id of each that was there and differed."""
    doomed: list[int] = field(default_factory=list)
    """Ids of those that were there and are in the way."""

    @property
    def written(self) -> int:
        return self.created + self.changed + self.deleted

    def say(self, words: str) -> None:
        if len(self.examples) < MAX_SHOWN:
            self.examples.append(words)


class Writer:
    """Writes models into one NetBox; `piece` is the most objects in a request."""

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
        """As `each`, with the ids by the wanted objects' own names."""
        found, change = self.each(model, rows, query, before)
        return {str(row[name]): found[model.key(row)]["id"] for row in rows}, change

    def each(
        self, model: Model, rows: Sequence[Json], query: Json | None = None, before: Before | None = None
    ) -> tuple[dict[Key, Json], ModelChange]:
        """Make every one of `rows`; gives the objects by key, with made-up negative ids in a dry
        run."""
        wanted = {model.key(row): _sent(row) for row in rows}
        change = ModelChange(model.title, len(wanted))
        pace = Pace(self._piece)
        tries = refusals_left = 0
        while True:
            done = change.written
            try:
                found = self._read(model, wanted, query)
                if before is not None:
                    before(wanted, found, change)
                self._write(model, wanted, found, change, pace)
                return found, change
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
        """What a path answers, asked again while NetBox is busy."""
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
        """Calls `write` with a piece after the other; a dry run calls it not at all."""
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
        """The objects that there are, by key; nothing for those of a site, type or maker that a dry
        run only made up."""
        asked = dict(query or {})
        for name, value in asked.items():
            known = [one for one in value if one > 0] if isinstance(value, list) else value
            if known == [] or (isinstance(known, int) and known < 0):
                return {}
            asked[name] = known
        if not wanted and not asked:
            return {}
        return {model.key(one): one for one in map(plain, self.client.all(model.path, asked))}

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
        change.differing = {places[key]: one["id"] for key, one in differing.items()}

        def tell() -> None:
            if self._progress is not None:
                done = change.created + change.changed
                self._progress(model.title, done, before + len(missing) + len(differing))

        def put_right(part: Sequence[Json]) -> None:
            self.client.change(model.path, part)
            change.changed += len(part)
            tell()

        def make(keys: Sequence[Key]) -> None:
            made = [plain(one) for one in self.client.create(model.path, [wanted[key] for key in keys])]
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
        for key, one in zip(keys, made, strict=True):
            found[key] = one
            change.say(f"create {title_of(wanted[key], one)}")
        change.created += len(keys)

    def _imagined(self, wanted: Json) -> Json:
        self._made_up -= 1
        return {**wanted, "id": self._made_up}


def _differing(model: Model, wanted: dict[Key, Json], found: dict[Key, Json], change: ModelChange) -> dict[Key, Json]:
    """What the plan owns of objects and is otherwise there: the id and the fields to set, by
    key."""
    out: dict[Key, Json] = {}
    for key, one in wanted.items() if model.owned else ():
        there = found.get(key)
        if there is None:
            continue
        fields = {name: one[name] for name in model.owned if name in one and not same(one[name], there.get(name))}
        if fields:
            out[key] = {"id": there["id"], **fields}
            before = {name: there.get(name) for name in fields}
            # What was empty is filled: only what replaces something is a difference to read.
            if any(value not in (None, "") for value in before.values()):
                change.say(f"change {title_of(one, there)}: {before} becomes {fields}")
    return out


def _sent(row: Mapping[str, Any]) -> Json:
    """A record as the API takes it: texts of CSV files as what they mean."""
    words = {"true": True, "false": False}
    return {name: words.get(value, value) if isinstance(value, str) else value for name, value in row.items()}


def title_of(wanted: Json, found: Json) -> str:
    return str(wanted.get("name") or wanted.get("model") or wanted.get("label") or found["id"])
