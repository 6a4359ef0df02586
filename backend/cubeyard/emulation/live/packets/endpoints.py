"""`/api/v1/runs/{id}/packets` and `…/packets.pcapng`: packets of a link or port while they flow."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import Query, Request, Response

from cubeyard.emulation.live.elsewhere import live_hosts, needs_way
from cubeyard.emulation.live.packets import schemas
from cubeyard.emulation.live.packets.streams import PacketStreams, Watched
from cubeyard.emulation.live.service import SessionService
from cubeyard.kit.errors import ProblemError, responses
from cubeyard.kit.ids import Id
from cubeyard.kit.responses import NotJson
from cubeyard.kit.routing import api_router
from cubeyard.kit.sse import MEDIA_TYPE, EventStream
from cubeyard.kit.unit_of_work import mark_caller

router = api_router(tags=["emulation"])

PCAPNG = "application/x-pcapng"
FILE = {
    "description": "The file, as it grows.",
    "content": {PCAPNG: {"schema": {"type": "string", "format": "binary"}}},
}


EVENTS = {
    "description": "Events `packets`, then `end`.",
    "content": {MEDIA_TYPE: {"schema": schemas.PacketsEvent.model_json_schema()}},
}


class _PcapngStream(EventStream):
    """A response of bytes instead of events."""

    media_type = PCAPNG

    def last(self, reason: str) -> bytes:  # noqa: ARG002 - a pcapng file cannot contain the reason
        return b""


async def _begun(request: Request, watched: Watched, pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The same pieces, with the first one already received, so that errors are raised before the
    response begins."""
    try:
        first = await anext(pieces, b"")
    except ProblemError as error:
        await pieces.aclose()
        asked = (request.app.state.database, "Streams of packets", watched.run_id, watched.target.host, error)
        raise await run_sync(needs_way, *asked) from error
    except BaseException:
        await pieces.aclose()
        raise

    async def every() -> AsyncGenerator[bytes]:
        try:
            yield first
            async for piece in pieces:
                yield piece
        finally:
            await pieces.aclose()

    return every()


def _watched(request: Request, id: str, asked: schemas.StreamRequest) -> Watched:
    state = request.app.state
    hosts = live_hosts(state.settings, state.database)
    with state.database.session() as session:
        mark_caller(session, request)
        return SessionService(session, state.engine).watched(id, hosts, asked)


@router.get(
    "/runs/{id}/packets",
    operation_id="watch_packets",
    summary="Packets of a link or port in words, while they flow",
    response_class=NotJson,
    responses={200: EVENTS, **responses(404, 409, 503)},
)
async def watch_packets(request: Request, id: Id, asked: Annotated[schemas.StreamRequest, Query()]) -> Response:
    """Server-sent events: how many packets there were, and the last of them. Ends with its reader,
    at a limit, or with the run."""
    streams: PacketStreams = request.app.state.packet_streams
    watched = await run_sync(_watched, request, id, asked)
    return EventStream(await _begun(request, watched, streams.words(watched)))


@router.get(
    "/runs/{id}/packets.pcapng",
    operation_id="stream_packets",
    summary="Packets of a link or port as a pcapng stream, while they flow",
    response_class=NotJson,
    responses={200: FILE, **responses(404, 409, 503)},
)
async def stream_packets(request: Request, id: Id, asked: Annotated[schemas.StreamRequest, Query()]) -> Response:
    """For Wireshark: `curl -N 'URL?link=…' | wireshark -k -i -`. A reader that reads nothing for 10
    s is disconnected; the file's last block counts packets that arrived faster than they were read.
    The packets are not stored with the run."""
    streams: PacketStreams = request.app.state.packet_streams
    watched = await run_sync(_watched, request, id, asked)
    answer = _PcapngStream(await _begun(request, watched, streams.pcapng(watched)))
    answer.headers["content-disposition"] = f'attachment; filename="run-{id[:8]}.pcapng"'
    return answer
