"""Common base of the models of all documents."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from cubeyard.kit.models import Model

JsonObject = Annotated[dict[str, Any], Field(json_schema_extra={"additionalProperties": True})]


class Document(Model):
    """A part of a document of the engine."""

    model_config = ConfigDict(extra="forbid")
