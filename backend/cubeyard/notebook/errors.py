"""Errors as a notebook shows them: one sentence each, with the field, its value, its limit and what
to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from cubeyard.kit.errors import FieldError, ProblemError
from cubeyard.kit.validation import in_words

PREFIXES = ("body.spec.", "body.", "spec.", "query.")
"""Where fields stand in a request; a call's fields stand alone."""


@dataclass(frozen=True)
class Mistake:
    """One thing wrong with one field."""

    field: str
    """The argument or the field of the spec, like `topology.n`."""
    message: str
    value: Any = None
    limit: Any = None
    """What the value has to be, in words, or as the engine gives it: `[least, most]`, or the names
    that there are."""
    hint: str | None = None
    """What to do about it."""
    fix: Mapping[str, Any] | None = None
    """A JSON merge patch on the plan spec that repairs it."""

    def __str__(self) -> str:
        message = self.message if self.message.endswith((".", "!", "?")) else f"{self.message}."
        parts = [f"{self.field}: {message}"]
        if isinstance(self.limit, str) and self.limit not in f"{message} {self.hint}":
            parts.append(f"Limit: {self.limit}.")
        if self.hint:
            parts.append(self.hint)
        return " ".join(parts)


class CubeyardError(ValueError):
    """What was asked is not possible; the message names every mistake.

    `field`, `value`, `limit`, `hint` and `fix` are those of the first of `mistakes`.
    """

    def __init__(self, mistakes: list[Mistake], code: str = "invalid") -> None:
        super().__init__("\n".join(str(one) for one in mistakes))
        self.code = code
        self.mistakes = mistakes
        first = mistakes[0]
        self.field, self.value, self.limit = first.field, first.value, first.limit
        self.hint, self.fix = first.hint, first.fix


class MissingPackageError(CubeyardError, ImportError):
    """A package is needed that is not installed; the message says which one installs it."""

    def __init__(self, package: str, extra: str = "notebook") -> None:
        message = f"{package} is not installed"
        super().__init__([Mistake(package, message, hint=f"Run: pip install 'cubeyard[{extra}]'")], "missing-package")


def mistake(
    field: str, value: object, message: str, *, limit: str | None = None, hint: str | None = None
) -> CubeyardError:
    """An error of one argument."""
    return CubeyardError([Mistake(field, message, value, limit, hint)])


@contextmanager
def explained(renamed: Mapping[str, str] | None = None) -> Iterator[None]:
    """Problems of the rooms below as `CubeyardError`; `renamed` has arguments by the field of a
    request that they fill."""
    names = renamed or {}
    try:
        yield
    except ProblemError as error:
        raise _of(error, names) from None
    except ValidationError as error:
        raise CubeyardError([_named(one, names) for one in in_words(error.errors(include_url=False))]) from None


def _of(error: ProblemError, names: Mapping[str, str]) -> CubeyardError:
    if error.errors:
        fixes = {one.get("where"): one.get("fix") for one in error.findings}
        return CubeyardError([_named(one, names, fixes.get(_bare(one.field))) for one in error.errors], error.code)
    wrong = [one for one in error.findings if one.get("severity") == "error"] or error.findings
    if not wrong:
        return CubeyardError([Mistake("request", error.detail)], error.code)
    return CubeyardError([_of_finding(one, names) for one in wrong], error.code)


def _of_finding(one: Mapping[str, Any], names: Mapping[str, str]) -> Mistake:
    return Mistake(
        _argument(str(one["where"]), names), str(one["message"]), one.get("value"), one.get("limit"),
        one.get("hint") or None, one.get("fix"),
    )  # fmt: skip


def _named(one: FieldError, names: Mapping[str, str], fix: Mapping[str, Any] | None = None) -> Mistake:
    return Mistake(_argument(one.field, names), one.message, one.value, one.limit, one.hint, fix)


def _argument(field: str, names: Mapping[str, str]) -> str:
    first, dot, rest = _bare(field).partition(".")
    return names.get(first, first) + dot + rest


def _bare(field: str) -> str:
    for prefix in PREFIXES:
        if field.startswith(prefix):
            return field.removeprefix(prefix)
    return field
