"""Programs of users in images, beside the servers of an emulation: what one may say of them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator

from cubeyard.kit.text import PlainText
from cubeyard.plans.schemas import Request

MAX_USER_IMAGES = 16
"""Of an emulation; a server has one at most."""
MAX_WORDS, MAX_WORD, MAX_VARIABLES = 64, 4096, 64
OURS = "CUBEYARD_"
"""How the variables begin that tell a program where it is."""

_DOMAIN = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?::[0-9]{1,5})?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)(?::(?P<tag>[\w][\w.-]{{0,127}}))?(?:@sha256:(?P<digest>[a-f0-9]{{64}}))?",
    re.ASCII,
)
"""As registries and engines take it. `[OCI distribution, docker/distribution reference]`"""


def _reference(text: str) -> str:
    found = _REFERENCE.fullmatch(text)
    if found is None or len(found["name"]) > 255:
        raise ValueError(
            "not a reference to an image; write [REGISTRY/]NAME[:TAG][@sha256:DIGEST] with a name in lower case, like nginx:1.29"
        )
    return text


ImageReference = Annotated[PlainText, Field(min_length=1, max_length=512), AfterValidator(_reference)]
Word = Annotated[PlainText, Field(max_length=MAX_WORD)]
VariableName = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,127}$")]


class UserImage(Request):
    """A program of a user's in an image: a second container of servers, with their network, their addresses and none of their rights.

    It runs as nobody, without capabilities, on a root that it cannot write, with 256 MiB of memory and 16 MiB in `/tmp`. It begins
    beside its server, before cables are there; `CUBEYARD_SERVER` and `CUBEYARD_ADDRESS` tell it where it is.
    """

    image: ImageReference = Field(description="What is run; pulled where it is not there.", examples=["nginx:1.29"])
    command: list[Word] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_WORDS,
        description="What runs in it, word by word, in place of what the image says.",
        examples=[["python3", "-m", "http.server"]],
    )
    environment: dict[VariableName, Word] = Field(
        default_factory=dict, max_length=MAX_VARIABLES, description="Variables beside those of the image."
    )
    servers: list[Annotated[PlainText, Field(min_length=1, max_length=64)]] | None = Field(
        default=None, min_length=1, max_length=1024, description="Which ones have it, by name; all if left out."
    )
    writable: bool = Field(
        default=False, description="Whether it may write its root, which is gone with the run; `/tmp` it always may."
    )

    @field_validator("environment")
    @classmethod
    def _not_ours(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if name.startswith(OURS):
                raise ValueError(f"{name} is told by the run; give a name that does not begin with {OURS}")
        return value
