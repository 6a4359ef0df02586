"""Images of users on a Docker engine: pulled within limits, and removed after their run."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from docker.errors import APIError, ImageNotFound

from cubeyard.emulation.deploy.beside import ImageRefusedError, not_pulled, too_large
from cubeyard.emulation.deploy.docker_disk import Free, unknown
from cubeyard.emulation.deploy.docker_engine import explained
from cubeyard.kit.disk import is_full
from cubeyard.settings import LOCAL_IMAGES, Settings

Json = dict[str, Any]

PULL_SECS = 300.0
"""Time limit for one image. The engine completes a pull that it has begun, so a second try finds
the image."""
PULLED = "cubeyard-pulled"
"""Repository of a second name for each image that a run has pulled: only these images may be
removed."""
HELD = "cubeyard-held"
"""Repository of another name for each image of a run, tagged with the run's id, until the run
ends."""


class Image(NamedTuple):
    """A user's image on an engine."""

    identity: str
    volumes: tuple[str, ...] = ()
    """Folders that it declares as VOLUME. Unless something else is mounted there, an engine creates
    each on its disk, writable and without a limit."""

    @classmethod
    def of(cls, inspected: Json) -> Image:
        volumes = (inspected.get("Config") or {}).get("Volumes") or {}
        return cls(str(inspected["Id"]), tuple(sorted({posixpath.normpath(folder) for folder in volumes})))


class Account:
    """Counts the bytes of a run's images on an engine."""

    def __init__(self, settings: Settings, free: Free) -> None:
        self._limit = settings.image_bytes
        self._layers: dict[str, int] = {}
        self._unpacked = 0
        self._free = free
        self._free_bytes = free()

    def add(self, news: Json) -> None:
        """Adds the engine's progress report on a layer: the bytes that have arrived, or the
        announced size if it is larger."""
        if news.get("status") == "Downloading":
            detail = news.get("progressDetail") or {}
            self._layers[str(news.get("id"))] = max(int(detail.get("current") or 0), int(detail.get("total") or 0))

    def add_unpacked(self, size: int) -> None:
        self._unpacked += size

    @property
    def exceeded(self) -> bool:
        """Whether the limit is exceeded. Counts the disk's usage too, since a small layer can
        unpack to any size, with a margin for other programs that write to it."""
        if max(sum(self._layers.values()), self._unpacked) > self._limit:
            return True
        free = self._free()
        if self._free_bytes is None:
            self._free_bytes = free
        return free is not None and self._free_bytes is not None and self._free_bytes - free > 2 * self._limit


def have_all(
    settings: Settings,
    api: Any,
    run_id: str,
    images: Mapping[str, str],
    check: Callable[[], None],
    free: Free = unknown,
) -> dict[str, Image]:
    """Pulls a run's images. Each belongs to a server, which errors name. `free` returns the free
    space on the engine's disk."""
    account = Account(settings, free)
    return {image: have(settings, api, run_id, image, server, check, account) for image, server in images.items()}


def have(
    settings: Settings, api: Any, run_id: str, image: str, server: str, check: Callable[[], None], account: Account
) -> Image:
    """Pulls an image. If `local` is allowed, an image that the engine already has is used. The
    image stays until the run calls `forget`. Raises ImageRefusedError; `check` may raise to
    cancel."""
    with explained():
        before = _known(api, image)
        if before is not None:
            _hold(api, run_id, before["Id"])
            if LOCAL_IMAGES in settings.registries:
                return Image.of(before)
        after = None
        try:
            _pull(settings, api, image, server, check, account)
        except APIError as error:
            if is_full(error):
                raise
            raise not_pulled(server, image, str(error.explanation or error)) from error
        finally:
            # An engine may complete a pull just when its caller gives up.
            after = _known(api, image)
            is_ours = after is not None and (before is None or before["Id"] != after["Id"])
            if after is not None and is_ours:
                _hold(api, run_id, after["Id"])
                api.tag(after["Id"], PULLED, _short(after["Id"]))
        if after is None:
            raise not_pulled(server, image, "not found")
        account.add_unpacked(after["Size"])
        if account.exceeded:
            if is_ours:
                _release(api, run_id, after["Id"])
                _remove(api, after["Id"])
            raise too_large(server, image, settings.image_bytes)
        return Image.of(after)


def _pull(settings: Settings, api: Any, image: str, server: str, check: Callable[[], None], account: Account) -> None:
    deadline = time.monotonic() + PULL_SECS
    stream = api.pull(image, stream=True, decode=True)
    try:
        for news in stream:
            check()
            if error := news.get("error"):
                raise not_pulled(server, image, str(error))
            account.add(news)
            if account.exceeded:
                raise too_large(server, image, settings.image_bytes)
            if time.monotonic() > deadline:
                why = f"is not pulled after {PULL_SECS:.0f} s"
                raise ImageRefusedError(server, image, why, "Pull it beforehand.")
    finally:
        # The engine ends a pull when its caller closes the connection.
        stream.close()


def forget(settings: Settings, api: Any, run_id: str) -> None:
    """Releases a run's images. Removes images that were pulled for runs and that no run or
    container uses, except the smallest ones that may be kept."""
    _release(api, run_id)
    kept_bytes = 0
    for image in sorted(api.images(filters={"reference": PULLED}), key=lambda image: image["Size"]):
        if kept_bytes + image["Size"] <= settings.image_keep_bytes:
            kept_bytes += image["Size"]
        else:
            _remove(api, image["Id"])


def _hold(api: Any, run_id: str, identity: str) -> None:
    api.tag(identity, HELD, f"{run_id}-{_short(identity)}")


def _release(api: Any, run_id: str, identity: str = "") -> None:
    """Releases all images of a run, or one of them."""
    for image in api.images(filters={"reference": HELD}):
        for name in image["RepoTags"] or ():
            if name.startswith(f"{HELD}:{run_id}-") and name.endswith(_short(identity)):
                _untag(api, name)


def _remove(api: Any, identity: str) -> None:
    """Removes an image, one name after the other. If another run starts to use it meanwhile, that
    run's name keeps it."""
    with suppress(ImageNotFound):
        image = api.inspect_image(identity)
        names = [*(image.get("RepoTags") or ()), *(image.get("RepoDigests") or ())]
        if any(name.startswith(f"{HELD}:") for name in names):
            return
        if api.containers(all=True, filters={"ancestor": identity}):
            return
        for name in sorted(names, key=lambda name: name.startswith(f"{PULLED}:")):
            _untag(api, name)


def _untag(api: Any, name: str) -> None:
    with suppress(APIError):
        api.remove_image(name)


def _short(identity: str) -> str:
    return identity.rpartition(":")[2][:12]


def _known(api: Any, image: str) -> Json | None:
    try:
        return api.inspect_image(image)
    except ImageNotFound:
        return None
