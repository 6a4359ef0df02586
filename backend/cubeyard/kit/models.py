"""What requests and answers are made of."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

_NUMBERS = {"int": "int_type", "float": "float_type", "decimal": "float_type"}
"""Types of fields. Numeric fields reject true, false and texts, which pydantic would convert; a
decimal number may be a text."""


class Model(BaseModel):
    """Its validator is made when it is first used: a start would make three hundred, and use
    ten."""

    model_config = ConfigDict(defer_build=True)
    of_query: ClassVar[bool] = False
    """Whether the fields come from a query string, in which numbers are texts."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler, /) -> CoreSchema:
        schema = handler(source)
        if not cls.of_query:
            _refuse_others(handler.resolve_ref_schema(schema))
        return schema


def _refuse_others(schema: Any) -> None:
    """Below a schema, in place. Other models are references there, and have refused them
    already."""
    for key, inner in list(schema.items() if isinstance(schema, dict) else enumerate(schema)):
        kind = inner.get("type") if isinstance(inner, dict) else None
        if isinstance(kind, str) and kind in _NUMBERS:
            schema[key] = core_schema.no_info_before_validator_function(_REFUSALS[kind], cast("CoreSchema", inner))
        elif isinstance(inner, dict | list) and key not in ("metadata", "serialization", "keys_schema"):
            _refuse_others(inner)


def _refusal(kind: str, error: Any) -> Any:
    others = bool if kind == "decimal" else (bool, str)

    def refuse(value: Any) -> Any:
        if isinstance(value, others):
            raise PydanticKnownError(error)
        return value

    return refuse


_REFUSALS = {kind: _refusal(kind, error) for kind, error in _NUMBERS.items()}
