"""`/api/v1/scenarios`, and experiments as scenario files."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from pydantic import Field, ValidationError

from cubeyard.experiments import schemas
from cubeyard.experiments.endpoints import Service
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.experiments.scenario import document, model, reading
from cubeyard.experiments.scenario.model import EXAMPLE, Scenario
from cubeyard.kit.errors import ProblemError, responses
from cubeyard.kit.ids import Id
from cubeyard.kit.responses import disposition
from cubeyard.kit.routing import api_router
from cubeyard.kit.validation import in_words
from cubeyard.plans.schemas import Request

MEDIA_TYPE = "application/yaml"
FILE: dict[int | str, dict[str, Any]] = {200: {"content": {MEDIA_TYPE: {"schema": {"type": "object"}}}}}
"""Tools that validate responses against the description parse YAML as JSON."""
router = api_router(tags=["experiments"])


class YamlResponse(Response):
    media_type = MEDIA_TYPE


class ScenarioText(Request):
    """The text of a scenario file. It must contain its plan: only the command line reads the file
    in `plan.file`."""

    text: str = Field(max_length=document.MAX_BYTES, examples=[document.write(EXAMPLE)])


class ExperimentBody(Request):
    """An experiment to be written as a file."""

    experiment: dict[str, Any] = Field(
        description="The body of `POST /experiments`.",
        examples=[{"plan": EXAMPLE["plan"], "workload": EXAMPLE["workload"]}],
    )


def file_of(scenario: Scenario) -> Response:
    """A scenario as a file to save."""
    name = "".join(letter if letter.isalnum() else "-" for letter in scenario.name.lower()).strip("-")
    headers = {"content-disposition": disposition(f"{name[:60] or 'scenario'}.yaml"), "cache-control": "no-store"}
    return YamlResponse(document.write(scenario.document()), headers=headers)


@router.get(
    "/scenarios/schema",
    operation_id="read_scenario_schema",
    summary="The JSON schema of scenario files",
    responses=responses(),
)
def read_scenario_schema() -> dict[str, Any]:
    """A JSON schema for editors. The engine's further checks report path and line when the file is
    read."""
    return model.schema()


@router.post(
    "/scenarios",
    operation_id="create_experiment_from_scenario",
    summary="Save the experiment of a scenario file",
    status_code=201,
    responses=responses(),
)
def create_experiment_from_scenario(service: Service, request: ScenarioText) -> schemas.Experiment:
    """Start a run of it with `POST /experiments/{id}/runs`."""
    return service.create_from_scenario(request.text)


@router.post(
    "/scenarios/read",
    operation_id="read_scenario",
    summary="A scenario file as the body of an experiment, without saving it",
    responses=responses(),
)
def read_scenario(request: ScenarioText) -> dict[str, Any]:
    """Send it to `POST /experiments`. Errors name path and line."""
    return reading.read(request.text).request.model_dump(mode="json", exclude_defaults=True)


@router.post(
    "/scenarios/write",
    operation_id="write_scenario",
    summary="The body of an experiment as a scenario file, without saving it",
    response_class=YamlResponse,
    responses={**FILE, **responses(404)},
)
def write_scenario(service: Service, request: ExperimentBody) -> Response:
    try:
        requested = ExperimentCreate.model_validate(request.experiment)
    except ValidationError as error:
        matches = [{**item, "loc": ("body", "experiment", *item["loc"])} for item in error.errors()]
        errors = in_words(matches, {"body": {"experiment": request.experiment}})
        raise ProblemError(422, "invalid", f"{errors[0].field}: {errors[0].message}", errors=errors) from error
    return file_of(service.as_scenario(requested))


@router.get(
    "/experiments/{id}/scenario",
    operation_id="read_experiment_scenario",
    summary="An experiment as a scenario file",
    response_class=YamlResponse,
    responses={**FILE, **responses(404, 409)},
)
def read_experiment_scenario(service: Service, id: Id) -> Response:
    """With the specs of its plans, so that it needs nothing of this server."""
    return file_of(service.scenario(id))
