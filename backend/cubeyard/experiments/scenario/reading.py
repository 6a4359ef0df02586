"""Converts a scenario's text to an experiment to create. Errors name the path and the line in the
file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cubeyard.experiments.question import ExperimentCreate
from cubeyard.experiments.scenario import document as documents
from cubeyard.experiments.scenario.document import Document
from cubeyard.experiments.scenario.model import PlanFile, Scenario, ScenarioSettings
from cubeyard.kit.errors import FieldError, ProblemError
from cubeyard.kit.validation import of_validation, resolved

Json = dict[str, Any]
ReadFile = Callable[[str], Json]
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Read:
    """A scenario that was read, the experiment that it is, and where each of its fields stands."""

    scenario: Scenario
    request: ExperimentCreate
    source: Document

    @contextmanager
    def by_line(self) -> Iterator[None]:
        """Errors of the request's fields, as errors of the file's."""
        try:
            yield
        except ProblemError as error:
            if not error.errors:
                raise
            raise _problem([_moved(self.source, item) for item in error.errors], error.findings) from error


def read(data: bytes | str, read_file: ReadFile | None = None) -> Read:
    """The scenario of a file's text. `read_file` reads a plan's file by its path; without it such a
    plan is refused.

    Raises a 422 whose errors name path, line, value, limit and fix.
    """
    source = documents.read(data)
    scenario = checked(source, Scenario, source.value)
    if isinstance(scenario.plan, PlanFile):
        scenario = scenario.model_copy(update={"plan": _plan(source, scenario.plan, read_file)})
    return Read(scenario, checked(source, ExperimentCreate, scenario.body()), source)


def _plan(source: Document, plan: PlanFile, read_file: ReadFile | None) -> Json:
    if read_file is None:
        message = "A plan's file can be read by the command line only."
        hint = "Write the plan here: its `topology`, and what else its spec has."
        raise _problem([_told(source, ("plan", "file"), plan.file, message, hint=hint)])
    try:
        result = read_file(plan.file)
    except (OSError, ValueError) as error:
        message = f"The plan's file cannot be read: {getattr(error, 'strerror', None) or error}."
        hint = "Paths count from the scenario's own folder."
        raise _problem([_told(source, ("plan", "file"), plan.file, message, hint=hint)]) from error
    spec = result["spec"] if isinstance(result.get("spec"), dict) else result
    return {"topology": spec} if "family" in spec else spec


def checked(source: Document, model: type[Model], value: Any) -> Model:
    """The value as a model. Raises a 422 whose errors are by path and line."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        each = resolved(error.errors(include_url=False), value)
        raise _problem([_of_pydantic(source, item) for item in each]) from error


def _of_pydantic(source: Document, error: Mapping[str, Any]) -> FieldError:
    result = of_validation(error)
    hint = result.hint
    if error["type"] == "string_type" and isinstance(result.value, int | float):
        hint = f'Put it in quotes: "{result.value}".'
    return _told(source, error["loc"], result.value, result.message, limit=result.limit, hint=hint)


def _told(
    source: Document,
    path: list[str | int] | tuple[str | int, ...],
    value: Any,
    message: str,
    *,
    limit: str | None = None,
    hint: str | None = None,
) -> FieldError:
    if path and path[0] in ScenarioSettings.model_fields:
        path = ["settings", *path]
    shown, line = source.place(path)
    return FieldError(field=shown or "scenario", value=value, limit=limit, message=message, hint=hint, line=line)


def _moved(source: Document, error: FieldError) -> FieldError:
    path: list[str | int] = [int(part) if part.isdigit() else part for part in error.field.split(".")]
    return _told(source, path[1:], error.value, error.message, limit=error.limit, hint=error.hint)


def _problem(errors: list[FieldError], findings: Any = ()) -> ProblemError:
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return ProblemError(
        422,
        "invalid-scenario",
        f"line {first.line}: {first.field}: {first.message}{more}",
        errors=errors,
        findings=findings,
    )
