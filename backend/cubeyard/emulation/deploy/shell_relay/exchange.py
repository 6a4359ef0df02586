"""The protocol: one connection per question, with a line of JSON in each direction. After `open`,
the connection carries the shell's bytes."""

from __future__ import annotations

import socket
from typing import Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from cubeyard.kit.errors import ProblemError
from cubeyard.kit.models import Model

MAX_LINE_BYTES = 8 * 1024
SOCKETS = "shells-*.sock"
"""The workers' sockets in the folder that they share with the API."""


M = TypeVar("M", bound=BaseModel)


class Question(Model):
    """A question about a server (`check`, `open`) or about an open shell (all others)."""

    what: Literal["check", "open", "resize", "state", "exit_code", "close"]
    host: str = ""
    """Name of the server's machine; empty if there is only one."""
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
        """The value of the answer. Raises the exception of the other side."""
        if self.problem is not None:
            raise ProblemError(self.problem.status, self.problem.code, self.problem.detail)
        return self.value


def send(connection: socket.socket, message: BaseModel) -> None:
    connection.sendall(message.model_dump_json().encode() + b"\n")


def receive(connection: socket.socket, kind: type[M]) -> M:
    """Receives the next line. Reads no byte beyond it, since bytes of a shell may follow. Raises
    ConnectionError if there is no valid line."""
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
