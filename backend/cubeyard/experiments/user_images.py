"""Checks of users' programs in images, which run on the servers of an emulation."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from cubeyard.kit.text import PlainText
from cubeyard.plans.schemas import Request

MAX_USER_IMAGES = 16
"""Most user images of an emulation; a server has at most one."""
MAX_WORDS, MAX_WORD, MAX_VARIABLES = 64, 4096, 64
OURS = "CUBEYARD_"
"""The prefix of the variables that inform a program about its server."""

_DOMAIN = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?::[0-9]{1,5})?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)(?::(?P<tag>[\w][\w.-]{{0,127}}))?(?:@sha256:(?P<digest>[a-f0-9]{{64}}))?",
    re.ASCII,
)
"""A reference to an image, as registries and container engines accept it.
`[OCI distribution, docker/distribution reference]`"""
_FORM = "[REGISTRY/]NAME[:TAG][@sha256:DIGEST] with a name in lower case, like nginx:1.29"


def _reference(text: str) -> str:
    matched = _REFERENCE.fullmatch(text)
    if matched is None or len(matched["name"]) > 255:
        raise PydanticCustomError("image_reference", "This is not a reference to an image.", {"pattern": _FORM})
    return text


def registry_of(reference: str) -> str:
    """The registry of an image, in lower case. A first part without a dot or colon is a folder of
    docker.io."""
    first, slash, _ = reference.partition("/")
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost" or first != first.lower())
    host = first.lower() if is_host else "docker.io"
    return "docker.io" if host in ("index.docker.io", "registry-1.docker.io") else host


ImageReference = Annotated[PlainText, Field(min_length=1, max_length=512), AfterValidator(_reference)]
Word = Annotated[PlainText, Field(max_length=MAX_WORD)]
VariableName = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,127}$")]


class UserImage(Request):
    """A user's program in an image, which runs as a second container of servers, in their network.

    It runs as nobody, without capabilities, on a read-only root, with 256 MiB of memory and 16 MiB
    in `/tmp`. It starts before the links are up. `CUBEYARD_SERVER` and `CUBEYARD_ADDRESS` name its
    server and that server's address.
    """

    image: ImageReference = Field(description="Pulled if it is missing.", examples=["nginx:1.29"])
    command: list[Word] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_WORDS,
        description="Replaces the entry point and command of the image, word by word.",
        examples=[["python3", "-m", "http.server"]],
    )
    environment: dict[VariableName, Word] = Field(
        default_factory=dict, max_length=MAX_VARIABLES, description="Variables in addition to those of the image."
    )
    servers: list[Annotated[PlainText, Field(min_length=1, max_length=64)]] | None = Field(
        default=None, min_length=1, max_length=1024, description="Servers that run it, by name; all if left out."
    )
    writable: bool = Field(
        default=False,
        description="Whether its root file system is writable. It is removed with the run; `/tmp` is always writable.",
    )

    @field_validator("environment")
    @classmethod
    def _not_ours(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if name.startswith(OURS):
                form = f"NAME, which does not begin with {OURS}"
                raise PydanticCustomError(
                    "set_by_the_run", "{name} is set by the run.", {"name": name, "pattern": form}
                )
        return value
