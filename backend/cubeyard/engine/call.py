"""How the backend calls the binding: turns, limits, errors. Its only importer."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson

from cubeyard.built_plan import Json
from cubeyard.kit.digests import own_digest
from cubeyard.kit.engine_words import findings_in_words
from cubeyard.kit.errors import ProblemError
from cubeyard.kit.json_text import MAX_INTEGER
from cubeyard.kit.uncounted import Uncounted
from cubeyard.settings import Settings

if TYPE_CHECKING:
    from cubeyard.kit.metrics import Metrics

OnProgress = Callable[[int, int], object]
"""Called with units of work done and in all (0: not yet known); `False` cancels."""
OnPartial = Callable[[str], object]
"""Called with a JSON document: a frame, or a partial result."""


class CancelledError(Exception):
    """The work was cancelled by its progress callback."""


class PlanRejectedError(ProblemError):
    """The engine cannot plan this; its findings say what to change."""

    def __init__(self, findings: list[Json], *, code: str = "impossible-plan") -> None:
        errors = [finding for finding in findings if finding.get("severity") == "error"] or findings
        first = errors[0] if errors else {"where": "spec", "message": "The plan is not possible."}
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(422, code, f"{first['where']}: {first['message']}{more}", findings=findings)


def canonical(value: object) -> bytes:
    """JSON bytes that are equal for equal values: sorted keys, no white space."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER)
    except TypeError as error:  # an integer beyond 53 bits, or text that is not Unicode
        raise PlanRejectedError(
            [
                finding(
                    "not-json",
                    "spec",
                    f"The spec cannot be written as JSON: {error}.",
                    f"Use whole numbers up to {MAX_INTEGER} and plain text.",
                )
            ]
        ) from error


def content_hash(value: object) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def finding(code: str, where: str, message: str, hint: str) -> Json:
    """An error finding of the backend's own."""
    return {"severity": "error", "code": code, "where": where, "message": message, "hint": hint, "fix": None}


def binding_build() -> str:
    """Version and digest of the Rust sources: fabrics are called only by their own build."""
    return str(binding().engine_build())


class Calls:
    """Turns at the engine, what its calls share."""

    def __init__(self, settings: Settings, metrics: Metrics | None = None) -> None:
        self._settings = settings
        self._metrics = metrics or Uncounted()
        self._turns = threading.BoundedSemaphore(settings.engine_concurrency)
        # Predictions take seconds, plans milliseconds: a plan never waits until predictions are
        # over.
        self._long_turns = threading.BoundedSemaphore(max(1, settings.engine_concurrency - 1))

    @property
    def version(self) -> str:
        return str(binding().engine_version())

    @property
    def build_version(self) -> str:
        """Version and digests of the binding's sources and of this package's: all points of a run
        come from the same build."""
        return f"{binding_build()}.{own_digest()}"

    def refuse_oversize(self, spec_text: bytes) -> None:
        """Raise, with an estimate, if the plan would have more links than the limit. Costs
        microseconds."""
        estimate = size_of(spec_text)
        links = int(estimate["links"])
        if links <= self._settings.max_links:
            return
        message = (
            f"The plan would have about {links:,} links and {int(estimate['servers']):,} servers; "
            f"the limit here is {self._settings.max_links:,} links."
        )
        hint = "Plan a part of it, or raise CUBEYARD_MAX_LINKS. `cubeyard topology` streams the links of any size."
        raise PlanRejectedError([finding("too-large", "topology", message, hint)], code="too-large-plan")

    @contextmanager
    def _call(self, operation: str, *, long: bool = False) -> Iterator[None]:
        """A call with a turn, among the long ones where it is `long`. Its time counts as
        `operation`'s."""
        turns = self._long_turns if long else self._turns
        request = time.perf_counter()
        if not turns.acquire(timeout=self._settings.engine_wait_secs):
            detail = f"Every engine turn was taken for {self._settings.engine_wait_secs:g} s. Try again shortly."
            raise ProblemError(503, "busy", detail, headers={"retry-after": "2"})
        started = time.perf_counter()
        self._metrics.engine_wait_secs.observe(started - request)
        self._metrics.engine_busy.inc()
        try:
            with calling():
                yield
        finally:
            turns.release()
            self._metrics.engine_busy.dec()
            self._metrics.engine_secs.labels(operation).observe(time.perf_counter() - started)


def size_of(spec_text: bytes) -> Json:
    with calling():
        return orjson.loads(binding().estimate_json(spec_text.decode()))


def as_text(value: object) -> str:
    """The argument that the binding takes for a document."""
    return canonical(value).decode()


def binding():  # its inferred type is the module, so that calls are checked with the stub
    """Imported on first use: the API's description and the migrations need no engine."""
    import cubeyard_engine

    return cubeyard_engine


@contextmanager
def calling() -> Iterator[None]:
    """A call without a turn: the binding's errors become the backend's."""
    try:
        yield
    except binding().EngineError as error:
        raise PlanRejectedError(findings_in_words(error.findings_json)) from error
    except binding().EngineCancelled as error:
        raise CancelledError from error
