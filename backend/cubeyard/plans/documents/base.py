"""What the models of all documents share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

JsonObject = Annotated[dict[str, Any], Field(json_schema_extra={"additionalProperties": True})]


class Document(BaseModel):
    """A part of a document that the engine wrote."""

    model_config = ConfigDict(extra="forbid")
