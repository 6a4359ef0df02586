"""Who changes something: the name of the token that the request came with."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy.orm import Session

from cubeyard.kit.auth.repository import AuthRepository
from cubeyard.kit.db import CALLER

THIS_MACHINE = "this machine"
"""Without a token: only the server's own machine can call it then."""
CONFIGURED = "configured token"
COMMAND_LINE = "command line"
REVOKED = "revoked token"
"""A token that was revoked while its request was under way."""
RESERVED = frozenset({THIS_MACHINE, CONFIGURED, COMMAND_LINE, REVOKED})
"""No token has such a name: its changes would look like those of somebody else."""


class Actor(NamedTuple):
    name: str
    token_id: str | None = None
    """Id of a created token; null for this machine, the command line and the configured token."""


def actor(session: Session) -> Actor | None:
    """The caller of the session's transaction. None for the program: a worker, a reaper, a
    start."""
    if CALLER not in session.info:
        return None
    caller = session.info[CALLER]
    if isinstance(caller, Actor):
        return caller
    if caller is None:
        return Actor(THIS_MACHINE)
    if caller.token_id is None:
        return Actor(CONFIGURED)
    row = AuthRepository(session).token(caller.token_id)
    return Actor(row.name if row is not None else REVOKED, caller.token_id)
