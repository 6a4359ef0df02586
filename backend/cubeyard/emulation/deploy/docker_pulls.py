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
"""For one image. The engine completes a pull that it has begun; a further try finds the image."""
PULLED = "cubeyard-pulled"
"""Repository of a second name of each image that a run has pulled: these are ours to remove."""
HELD = "cubeyard-held"
"""Repository of a further name of each image of a run, with the run's id, until the run ends."""


class Image(NamedTuple):
    """A user's image on an engine."""

    identity: str
    volumes: tuple[str, ...] = ()
    """Folders that it declares as VOLUME: an engine makes each a folder of its disk, writable and
    without a limit, unless something else is mounted there."""

    @classmethod
    def of(cls, inspected: Json) -> Image:
        volumes = (inspected.get("Config") or {}).get("Volumes") or {}
        return cls(str(inspected["Id"]), tuple(sorted({posixpath.normpath(folder) for folder in volumes})))


class Account:
    """The bytes of a run's images on an engine, in all."""

    def __init__(self, settings: Settings, free: Free) -> None:
        self._limit = settings.image_bytes
        self._layers: dict[str, int] = {}
        self._unpacked = 0
        self._free = free
        self._free_bytes = free()

    def add(self, news: Json) -> None:
        """The engine's count for a layer: the bytes that have come, or that the manifest
        announces if these are more."""
        if news.get("status") == "Downloading":
            detail = news.get("progressDetail") or {}
            self._layers[str(news.get("id"))] = max(int(detail.get("current") or 0), int(detail.get("total") or 0))

    def add_unpacked(self, size: int) -> None:
        self._unpacked += size

    @property
    def exceeded(self) -> bool:
        """A layer of a few bytes can unpack to any size, so the disk counts too, with room for
        others that write to it."""
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
    """Pulls a run's images, each for a server, whose name errors give. `free` is the space on the
    engine's disk."""
    account = Account(settings, free)
    return {image: have(settings, api, run_id, image, server, check, account) for image, server in images.items()}


def have(
    settings: Settings, api: Any, run_id: str, image: str, server: str, check: Callable[[], None], account: Account
) -> Image:
    """Pulls an image. Where `local` is allowed, an image of the engine is taken
    as it is. It stays until the run calls `forget`. Raises ImageRefusedError; `check` may raise to
    end it."""
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
            # An engine may complete a pull just as its caller gives up.
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
        # The engine ends a pull whose caller has hung up.
        stream.close()


def forget(settings: Settings, api: Any, run_id: str) -> None:
    """Releases a run's images. Removes images that runs have pulled and that no run or container
    uses, but for the smallest ones that may be kept."""
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
    """All images of a run, or one of them."""
    for image in api.images(filters={"reference": HELD}):
        for name in image["RepoTags"] or ():
            if name.startswith(f"{HELD}:{run_id}-") and name.endswith(_short(identity)):
                _untag(api, name)


def _remove(api: Any, identity: str) -> None:
    """Removes an image name by name: a run that takes it meanwhile keeps it by its hold."""
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
