"""Requests for trials of services, and their results."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from cubeyard.experiments.emulation import MAX_MODULE_TEXT
from cubeyard.kit.json_text import MAX_INTEGER
from cubeyard.kit.models import Model

Side = Annotated[int, Field(ge=1, le=256)]


class ServiceTrial(Model):
    """A service, the torus whose servers all run it, and the message to each of them."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"service": "cache", "size": [20, 20, 20], "message": "get colour"}]},
    )

    service: str | None = Field(
        default=None, max_length=32, description="One that every server of a run hosts, like `cache`; or a `module`."
    )
    module: str | None = Field(
        default=None,
        max_length=MAX_MODULE_TEXT,
        description="A WebAssembly module in base64: the binary format, at most 128 KiB, or the text format.",
    )
    size: tuple[Side, Side, Side] = Field(
        default=(3, 3, 3), description="Servers along each axis; 2 to 8,000 servers in all."
    )
    secs: float = Field(default=10.0, gt=0, le=3600, description="Virtual time.")
    message: str = Field(
        default="{key} hello",
        max_length=8192,
        description="What each server's instance gets once, within the first second; `{key}` is another key coordinate for each.",
    )
    rate_bits_per_sec: float = Field(default=1e8, ge=1e3, le=1e12, description="Of every link.")
    seed: int = Field(default=7, ge=0, le=MAX_INTEGER, description="The seed of all random choices.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.service is None) == (self.module is None):
            given = "neither" if self.service is None else "both"
            raise ValueError(f"A trial is of one service: give service or module; here are {given}.")
        return self


class TrialReport(Model):
    """The result of a trial."""

    servers: int
    secs: float = Field(description="Virtual time.")
    carried: int = Field(description="Packets over links.")
    delivered: int = Field(description="Packets that reached their key.")
    hops: dict[str, int] = Field(description="Delivered packets by the hops that they took.")
    calls: int = Field(description="Of a module's functions; 0 of a service that every server hosts.")
    fuel: int = Field(description="Instructions that they took, about.")
    lost: dict[str, int] = Field(description="What was lost or refused, by reason.")
    counters: dict[str, int] = Field(description="The service's own.")
    answers: int = Field(description="To the outside.")
    said: list[tuple[float, str, str]] = Field(description="The first of them: second, server, text.")
    ended_early: bool = Field(description="Links had carried 20 million packets.")


class TrialEvent(Model):
    """One server-sent event of a trial."""

    event: Literal["progress", "result", "problem"]
    data: str = Field(
        description="JSON. `progress`: `{done, total}`, in thousandths of the virtual time; `result`: a TrialReport; `problem`: the error."
    )


def options_of(trial: ServiceTrial, **given: Any) -> dict[str, Any]:
    """The options in the form of the engine."""
    return {**trial.model_dump(mode="json", exclude={"service", "module"}), **given}
