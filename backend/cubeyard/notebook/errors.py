"""Errors in the form for notebooks: one sentence each, with the field, its value, its limit and the
fix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from cubeyard.kit.errors import FieldError, ProblemError
from cubeyard.kit.validation import in_words

PREFIXES = ("body.spec.", "body.", "spec.", "query.")
"""The prefixes of fields in a request; arguments of a call have none."""


@dataclass(frozen=True)
class Mistake:
    """One error of one field."""

    field: str
    """The argument or the field of the spec, like `topology.n`."""
    message: str
    value: Any = None
    limit: Any = None
    """The allowed values, in words or as the engine gives them: `[least, most]`, or a list of
    names."""
    hint: str | None = None
    """How to fix it."""
    fix: Mapping[str, Any] | None = None
    """A JSON merge patch on the plan spec that fixes the error."""

    def __str__(self) -> str:
        message = self.message if self.message.endswith((".", "!", "?")) else f"{self.message}."
        parts = [f"{self.field}: {message}"]
        if isinstance(self.limit, str) and self.limit not in f"{message} {self.hint}":
            parts.append(f"Limit: {self.limit}.")
        if self.hint:
            parts.append(self.hint)
        return " ".join(parts)


class CubeyardError(ValueError):
    """Invalid arguments; the message lists every error.

    `field`, `value`, `limit`, `hint` and `fix` are those of the first item of `mistakes`.
    """

    def __init__(self, mistakes: list[Mistake], code: str = "invalid") -> None:
        super().__init__("\n".join(str(item) for item in mistakes))
        self.code = code
        self.mistakes = mistakes
        first = mistakes[0]
        self.field, self.value, self.limit = first.field, first.value, first.limit
        self.hint, self.fix = first.hint, first.fix


class MissingPackageError(CubeyardError, ImportError):
    """A required package is not installed; the message names the installation command."""

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
    """Turns problems of the lower layers into `CubeyardError`; `renamed` maps the fields of a
    request to arguments."""
    names = renamed or {}
    try:
        yield
    except ProblemError as error:
        raise _of(error, names) from None
    except ValidationError as error:
        raise CubeyardError([_named(word, names) for word in in_words(error.errors(include_url=False))]) from None


def _of(error: ProblemError, names: Mapping[str, str]) -> CubeyardError:
    if error.errors:
        fixes = {finding.get("where"): finding.get("fix") for finding in error.findings}
        return CubeyardError([_named(item, names, fixes.get(_bare(item.field))) for item in error.errors], error.code)
    wrong = [finding for finding in error.findings if finding.get("severity") == "error"] or error.findings
    if not wrong:
        return CubeyardError([Mistake("request", error.detail)], error.code)
    return CubeyardError([_of_finding(finding, names) for finding in wrong], error.code)


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
