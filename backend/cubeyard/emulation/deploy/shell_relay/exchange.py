"""One connection, one question: a line of JSON, and a line as the answer. After `open` the
connection carries the shell's bytes."""

from __future__ import annotations

import socket
from typing import Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from cubeyard.kit.errors import ProblemError
from cubeyard.kit.models import Model

MAX_LINE_BYTES = 8 * 1024
SOCKETS = "shells-*.sock"
"""In the folder that API and worker share: one for each worker."""


M = TypeVar("M", bound=BaseModel)


class Question(Model):
    """About a server for `check` and `open`, about an open shell for the others."""

    what: Literal["check", "open", "resize", "state", "exit_code", "close"]
    host: str = ""
    """The name of the machine that has the server; empty for the only one."""
    run: str = ""
    server: int = 0
    name: str = ""
    prompt: str = ""
    idle_secs: float = Field(default=900.0, gt=0)
    shell: str = ""
    """The response to `open`."""
    columns: int = Field(default=80, ge=1, le=1000)
    rows: int = Field(default=24, ge=1, le=1000)


class Problem(Model):
    status: int
    code: str
    detail: str


class Answer(Model):
    value: str | int | None = None
    problem: Problem | None = None

    @classmethod
    def of(cls, error: ProblemError) -> Answer:
        return cls(problem=Problem(status=error.status, code=error.code, detail=error.detail))

    def taken(self) -> str | int | None:
        """The value. Raises the exception of the other side."""
        if self.problem is not None:
            raise ProblemError(self.problem.status, self.problem.code, self.problem.detail)
        return self.value


def send(connection: socket.socket, message: BaseModel) -> None:
    connection.sendall(message.model_dump_json().encode() + b"\n")


def receive(connection: socket.socket, kind: type[M]) -> M:
    """The next line. Not a byte more is read, since bytes of a shell may follow. Raises
    ConnectionError for none, or another."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte or len(line) >= MAX_LINE_BYTES:
            raise ConnectionError("the line has no end")
        line += byte
    try:
        return kind.model_validate_json(bytes(line))
    except ValidationError as error:
        raise ConnectionError(str(error)) from error
