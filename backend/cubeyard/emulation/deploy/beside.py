"""Users' programs on servers: their state, and the error for a program that does not run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from cubeyard.kit.errors import ProblemError

log = structlog.get_logger(__name__)

GRACE_SECS = 1.0
"""If a program fails within this time after its start, the run does not start."""
LOOK_SECS = 0.25
MAX_WHY = 1000
MAX_SAID = 240
"""Limit for the characters of a program's last output that are reported."""
NO_COMMAND = "no command specified"
"""Part of the message, in lower case, of engines and kubelets for an image without a command."""
KINDS = (
    (("toomanyrequests", "rate limit"), "its registry limits pulls", "Try again later."),
    (("no matching manifest",), "it has no variant for this processor", "Take another image."),
    (
        ("not found", "manifest unknown", "does not exist", "name unknown"),
        "its registry has no such image or tag",
        "Check its name and tag.",
    ),
    (("denied", "unauthorized", "forbidden"), "its registry requires a login", "Take a public image."),
    (
        ("no such host", "dial", "refused", "timeout", "deadline", "unreachable", "eof", "tls", "x509", "http"),
        "its registry does not answer",
        "Check its name and the way to its registry.",
    ),
)
"""Patterns in messages of engines and kubelets, by kind of error. Users see our text only: the
original message can contain data of any service at the address."""


@dataclass(frozen=True)
class ProgramState:
    """The state of a container with a user's program."""

    container: str
    """Id of the container; a restart creates a new one."""
    identity: str
    """The digest of its image, so that the same image can be used again."""
    ended: int | None
    """Exit status, once the program has ended."""
    said: str = ""
    """The last output, or why the program ended."""


class ImageRefusedError(ProblemError):
    """A user's image cannot be pulled, or does not run."""

    def __init__(self, server: str, image: str, why: str, fix: str) -> None:
        message = " ".join(why.split()).rstrip(".")
        message = message if len(message) <= MAX_WHY else f"{message[:MAX_WHY]}…"
        super().__init__(422, "image-refused", f"Server {server}: image {image} {message}. {fix}")


def not_pulled(server: str, image: str, words: str) -> ImageRefusedError:
    """The error for an image that an engine or a kubelet could not pull. Its original message goes
    only to the log."""
    log.info("image_not_pulled", image=image, server=server, error=words)
    small = words.lower().replace(image.rpartition("/")[2].partition(":")[0].partition("@")[0].lower(), "")
    for signs, why, fix in KINDS:
        if any(sign in small for sign in signs):
            return ImageRefusedError(server, image, f"cannot be had: {why}", fix)
    return ImageRefusedError(server, image, "cannot be had: it cannot be pulled", "Take another image.")


def too_large(server: str, image: str, most_bytes: int) -> ImageRefusedError:
    limit = f"{most_bytes // 2**20:,} MiB, the limit here (CUBEYARD_IMAGE_BYTES)"
    return ImageRefusedError(server, image, f"makes the run's images larger than {limit}", "Take smaller images.")


def shortened(text: str) -> str:
    """Text in one line, shortened at the start, because programs print the reason at the end."""
    plain = " ".join(text.split()).rstrip(".")
    return plain if len(plain) <= MAX_SAID else "…" + plain[-MAX_SAID + 1 :]


ENDINGS = {
    126: "its command could not be executed",
    127: "its command was not found",
    128: "it could not be started",
    137: "it was killed, perhaps for its memory",
}
"""Messages for exit statuses of shells, container runtimes and the kernel."""


def how_it_ended(status: int, output: str) -> str:
    reported = f"ended with status {status}" + (f" ({ENDINGS[status]})" if status in ENDINGS else "")
    return f"{reported}: {output}" if output else reported


def refuse_failed(
    names: Mapping[int, str], images: Mapping[int, str], look: Callable[[], Mapping[int, ProgramState]]
) -> None:
    """Watches programs for GRACE_SECS. Raises ImageRefusedError for the first one that has
    failed."""
    deadline = time.monotonic() + GRACE_SECS
    while True:
        for server, state in sorted(look().items()):
            if state.ended:
                raise ImageRefusedError(
                    names[server], images[server], how_it_ended(state.ended, state.said), "See to its command."
                )
        if time.monotonic() >= deadline:
            return
        time.sleep(LOOK_SECS)
