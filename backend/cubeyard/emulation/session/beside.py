"""Users' programs on servers during a run: reports an event for each program that ends, and adds
them to the report."""

from __future__ import annotations

from typing import Any

import structlog

from cubeyard.emulation.deploy.beside import ProgramState
from cubeyard.emulation.deploy.deployment import Deployment
from cubeyard.emulation.setup.question import Question
from cubeyard.emulation.setup.user_images import described

Json = dict[str, Any]
log = structlog.get_logger(__name__)

SAID_BYTES, IMAGE_BYTES = 240, 120
"""Most bytes of texts in an event."""


def _last(text: str, most: int) -> str:
    return text.encode()[-most:].decode(errors="ignore")


class Programs:
    """Tracks which programs have ended."""

    def __init__(self, run_id: str, question: Question, deployment: Deployment) -> None:
        self._run = run_id
        self._question = question
        self._deployment = deployment
        self._told: set[str] = set()
        """Containers whose end was reported or caused by a fault."""
        self._identities: dict[int, str] = {}
        self._ended: list[Json] = []

    def look(self, off: set[int], at_secs: float) -> list[Json]:
        """Polls the programs. Returns an event, in the form of the fabric's events, for each
        program that has ended by itself since the last poll; programs of servers in `off` have
        ended with their server. Raises one of GONE."""
        events = []
        for server, state in sorted(self._deployment.programs(self._told).items()):
            if state.identity:
                self._identities[server] = state.identity
            if state.ended is None or state.container in self._told:
                continue
            self._told.add(state.container)
            if server not in off:
                events.append(self._tell(server, state, state.ended, at_secs))
        return events

    def _tell(self, server: int, state: ProgramState, status: int, at_secs: float) -> Json:
        name, image = self._question.network.servers[server], self._question.beside[server].image
        reported = {"server": server, "status": status, "message": _last(state.said, SAID_BYTES)}
        self._ended.append({**reported, "server": name, "at_secs": round(at_secs, 3)})
        log.info("program_ended", run=self._run, server=name, image=image, status=status, said=state.said)
        return {"kind": "program-ended", "image": _last(image, IMAGE_BYTES), **reported}

    def document(self) -> list[Json]:
        """For the report: each image with its servers, its exact identity, and which of its
        programs have ended."""
        names = self._question.network.servers
        matches = []
        for item in described(self._question.beside):
            servers = [names[server] for server in item["servers"]]
            identities = sorted({self._identities[server] for server in item["servers"] if server in self._identities})
            ended = [end for end in self._ended if end["server"] in servers]
            matches.append({**item, "servers": servers, "identities": identities, "ended": ended})
        return matches
