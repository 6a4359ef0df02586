"""Faults in requests and documents: target, kind and time."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationInfo, create_model, field_validator

from cubeyard.experiments.fault_kinds import KINDS, OPTIONAL, PARAMETERS, KindName, Parameter
from cubeyard.experiments.fault_text import fault_of
from cubeyard.kit.text import PlainText
from cubeyard.plans.schemas import Request
from cubeyard.reading.units import without_noise

FailureKind = Literal["server", "switch", "link", "rack"]
Ratio = Annotated[float, Field(ge=0, le=1), AfterValidator(without_noise)]
Selected = Annotated[PlainText, Field(min_length=1, max_length=200)]


class ShareTarget(Request):
    """A share of all devices of a kind, drawn by the seed."""

    kind: FailureKind
    ratio: Ratio


class NamedTarget(Request):
    """Devices, racks and links by name."""

    names: list[Selected] = Field(min_length=1, max_length=10_000, examples=[["<3,001>", "R07"]])


class SelectedTarget(Request):
    """Devices selected by a phrase."""

    selector: Selected = Field(examples=["10% of level-1 switches"])


def _is_none(value: object) -> bool:
    return value is None


def _parameter(one: Parameter, *, bounded: bool) -> Any:
    """An optional field for a parameter, with the kinds that need it."""
    kinds = " or ".join(f"`{kind.name}`" for kind in KINDS.values() if one in kind.parameters)
    unit = f", in {one.unit}" if one.unit else ""
    limits: dict[str, Any] = {"ge": one.minimum, "le": one.maximum} if bounded else {}
    field = Field(default=None, exclude_if=_is_none, description=f"With {kinds}: {one.title}{unit}.", **limits)
    return (float | None, field)


class _Core(Request):
    at_secs: float = Field(default=0.0, ge=0, le=1e9, allow_inf_nan=False)
    target: ShareTarget | NamedTarget | SelectedTarget
    kind: KindName = Field(default="down", title="Name of the kind")
    until_secs: float | None = Field(default=None, ge=0, le=1e9, allow_inf_nan=False, description="Null: permanently.")


_WithParameters = create_model(
    "_WithParameters",
    __base__=_Core,
    **{name: _parameter(parameter, bounded=False) for name, parameter in PARAMETERS.items()},
)


PERIOD = OPTIONAL["flap_secs"]


class Fault(_WithParameters):
    """Target, kind and time of a fault, and the parameter of its kind. Predictions support some
    kinds, emulations all of them."""

    flap_secs: float | None = Field(
        default=None,
        exclude_if=_is_none,
        ge=PERIOD.minimum,
        le=PERIOD.maximum,
        description="On and off, for this long each, until `until_secs`.",
    )


_Bounded = create_model(
    "_Bounded", __base__=Fault, **{name: _parameter(parameter, bounded=True) for name, parameter in PARAMETERS.items()}
)


class FaultRequest(_Bounded):
    """A fault of a request: with the parameters that its kind needs and no others, within their
    limits, and in order of time."""

    model_config = ConfigDict(validate_default=True)

    @field_validator("until_secs")
    @classmethod
    def _after_it_strikes(cls, value: float | None, info: ValidationInfo) -> float | None:
        at_secs = info.data.get("at_secs")
        if value is not None and at_secs is not None and value <= at_secs:
            raise ValueError(f"it is not after at_secs, which is {at_secs:g}; give a later time, or leave it out")
        return value

    @field_validator(*PARAMETERS)
    @classmethod
    def _of_its_kind(cls, value: float | None, info: ValidationInfo) -> float | None:
        kind = info.data.get("kind")
        if kind is None:
            return value  # the kind is refused already
        needed = any(parameter.name == info.field_name for parameter in KINDS[kind].parameters)
        if needed and value is None:
            raise ValueError(f"{kind} needs {info.field_name}")
        if not needed and value is not None:
            raise ValueError(f"{info.field_name} says nothing about a fault of kind {kind}; leave it out")
        return value


def _of_text(value: Any) -> Any:
    return fault_of(value) if isinstance(value, str) else value


FaultRequests = Annotated[
    list[Annotated[FaultRequest, BeforeValidator(_of_text, json_schema_input_type=FaultRequest | str)]],
    Field(
        max_length=200,
        description="Each as an object, or as text: KIND[:AMOUNT]=TARGET[@FROM[-UNTIL][~PERIOD]].",
        examples=[["cable-pulled=00/<0,0>@3-6", {"kind": "down", "target": {"selector": "10% of links"}}]],
    ),
]
"""The faults of a request. Raises a 422 by field."""
