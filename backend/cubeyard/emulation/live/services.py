"""Messages to the services of a live run, and the services' answers.

A message is sent to the fabric of its server immediately. Message and answers are events of the
run, which its worker records with the next tick. The caller's answers are read from these records,
so that they equal those in a replay.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cubeyard.emulation.fabric.client import FabricError
from cubeyard.emulation.fabric.hosts import Hosts
from cubeyard.emulation.live import schemas
from cubeyard.emulation.live.elsewhere import LiveClient
from cubeyard.emulation.live.repository import EventRepository
from cubeyard.emulation.network.network import Network
from cubeyard.frames.network import FrameHosts
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError, field_error

Json = dict[str, Any]

TELL_SECS = 2.0
"""Time limit for sending. The fabric accepts a message within a millisecond, and refuses one for a
server that is gone."""
LOOK_EVERY_SECS = 0.1
"""The interval between two ticks."""
ANSWER = "service-answer"


@dataclass(frozen=True)
class Message:
    """A message after its checks, with the number of the run's last frame before it."""

    run_id: str
    network: Network
    service: str
    text: str
    servers: list[int]
    every: bool
    """Whether the message is for all servers. Then a server that does not respond does not prevent
    sending to the others."""
    after: int
    placed: FrameHosts | None = None
    """The placement of servers on hosts."""


def services_of(network: Network) -> schemas.ServiceList:
    protocol = network.protocol
    return schemas.ServiceList(items=protocol["services"], max_message_bytes=protocol["max_message_bytes"])


def check_message(network: Network, service: str, asked: schemas.ServiceMessage) -> list[int]:
    """The servers that must get a message. Raises a 409 if servers host no services, a 422 that
    names the field."""
    names = [item["name"] for item in network.protocol["services"]]
    if not names:
        title = network.protocol["title"]
        raise ProblemError(
            409, "no-services", f"The servers of this {network.family} host no services: they run {title}."
        )
    if service not in names:
        message = f"The servers of this run host no service {service}."
        limit, hint = f"one of {', '.join(names)}", "GET /api/v1/runs/{id}/services describes them."
        raise field_error("path.service", service, message, limit=limit, hint=hint)
    length, most = len(asked.message.encode()), int(network.protocol["max_message_bytes"])
    if length > most:
        message = f"The message is {length:,} bytes long, but may be {most:,}."
        hint = "Send a shorter one, or several."
        raise field_error("body.message", asked.message, message, limit=f"at most {most:,} bytes of UTF-8", hint=hint)
    if asked.server is None:
        return list(network.servers)
    server = network.id_of.get(asked.server)
    if server is None or server not in network.servers:
        known = list(network.servers.values())
        message = f"There is no server {asked.server} in this run."
        limit, hint = "a server of the run", f"They are called {known[0]} to {known[-1]}."
        raise field_error("body.server", asked.server, message, limit=limit, hint=hint)
    return [server]


def send(hosts: Hosts, message: Message) -> tuple[list[str], list[str], bool]:
    """Sends the message. Returns the names of the servers that received it, the names of the
    servers that do not respond, and whether the run is on another machine.

    Raises a 409 if its only server or no server responds, a 503 if the fabric is missing or silent.
    """
    network, spread = message.network, hosts.of_run(message.placed).spread(message.network)
    reported, silent, why = [], [], ""
    far = False
    for number, host in enumerate(spread.hosts):
        mine = [server for server in message.servers if spread.host_of[server] == number]
        if not mine:
            continue
        shared = {"run": message.run_id, "service": message.service, "message": message.text}
        with LiveClient(host) as fabric:
            results = fabric.each("tell", TELL_SECS, [{**shared, "server": server} for server in mine])
        for server, result in zip(mine, results, strict=True):
            if isinstance(result, FabricError):
                silent.append(network.servers[server])
                why = why or host.said(result.detail)
            else:
                reported.append(network.servers[server])
        far = far or bool(host.name) or fabric.asked
    if not reported:
        who = "No server answers" if message.every else f"Server {silent[0]} does not answer"
        raise ProblemError(409, "server-silent", f"{who}: {why}")
    return reported, silent, far


@dataclass
class Answers:
    """Collects the answers of a service from the events of ticks. Joins the parts of long
    answers."""

    network: Network
    service: str
    since_nanos: int = 0
    """Time on the machine's monotonic clock. Earlier answers belong to a previous message and were
    reported late."""
    whole: list[schemas.ServiceAnswer] = field(default_factory=list)
    _begun: dict[Any, str] = field(default_factory=dict)
    """The parts received so far, by server."""

    def hear(self, events: Iterable[Json]) -> None:
        for event in events:
            if event.get("name") != ANSWER or event.get("kind") != "protocol":
                continue
            if (event.get("at_nanos") or self.since_nanos) < self.since_nanos:
                continue
            cells = {cell["name"]: cell["value"] for cell in event["cells"]}
            if cells.get("service") != self.service:
                continue
            server = event.get("server")
            text = self._begun.pop(server, "") + str(cells.get("answer", ""))
            if cells.get("parts_left"):
                self._begun[server] = text
                continue
            name = self.network.name_of.get(server, str(server)) if server is not None else ""
            self.whole.append(schemas.ServiceAnswer(server=name, at_secs=event["at_secs"], answer=text))


def answers_of(
    database: Database, message: Message, since_nanos: int, asked: schemas.ServiceMessage
) -> list[schemas.ServiceAnswer]:
    """The service's answers since the message, once there are as many as requested or the time is
    up."""
    result, after = Answers(message.network, message.service, since_nanos), message.after
    until = time.monotonic() + asked.wait_secs
    while True:
        # A new session for each poll, so that a waiting caller holds no connection to the database.
        with database.session() as session:
            ticks = EventRepository(session).of_ticks(message.run_id, after)
        for seq, events in ticks:
            result.hear(events)
            after = seq
        if len(result.whole) >= asked.answers or time.monotonic() >= until:
            return result.whole
        time.sleep(min(LOOK_EVERY_SECS, max(until - time.monotonic(), 0.0)))


def exchange(
    database: Database, hosts: Hosts, message: Message, asked: schemas.ServiceMessage
) -> schemas.ServiceExchange:
    """Sends a message and waits for responses for the given time. Raises the errors of `send`."""
    since_nanos = time.monotonic_ns()
    reported, silent, far = send(hosts, message)
    # The run's events have the clock of its worker, which may be another machine.
    answers = answers_of(database, message, 0 if far else since_nanos, asked)
    return schemas.ServiceExchange(
        run_id=message.run_id, service=message.service, told=reported, silent=silent, answers=answers
    )
