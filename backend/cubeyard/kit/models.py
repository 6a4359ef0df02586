"""What requests and answers are made of."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Its validator is made when it is first used: a start would make three hundred, and use
    ten."""

    model_config = ConfigDict(defer_build=True)
