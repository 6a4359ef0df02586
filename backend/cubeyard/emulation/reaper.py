"""Removes what dead runs left, and only that: of this place's runs those whose lock nobody holds."""

from __future__ import annotations

import shutil

import structlog

from cubeyard.emulation.containers import Containers, DockerGoneError
from cubeyard.emulation.fabric_client import FabricClient, FabricError, FabricGoneError
from cubeyard.emulation.fabric_process import FabricProcess, reap_state
from cubeyard.emulation.place import Place
from cubeyard.kit.disk import DiskFullError
from cubeyard.settings import Settings

log = structlog.get_logger(__name__)


def reap(place: Place) -> list[str]:
    """The runs that were removed. What does not answer now is left for the next time."""
    docker = Containers(place.name)
    # A lock without a holder: its run may have something here, or died before it had.
    found = {lock for lock in place.locks() if lock != "owner"}
    try:
        found |= set(docker.runs())
    except DockerGoneError:
        docker = None
    try:
        with FabricClient(place.socket) as fabric:
            found |= {str(one["run"]) for one in fabric.call("runs").get("runs", [])}
    except (FabricGoneError, FabricError) as error:
        log.debug("fabric_not_reaped", error=error.detail)
    removed = []
    for run in sorted(found):
        with place.held(run) as nobodys:
            if not nobodys:
                continue
            if _remove(place, docker, run):
                place.forget(run)
                removed.append(run)
    if docker is not None:
        docker.close()
    if removed:
        log.warning("emulations_reaped", runs=removed)
    return removed


def _remove(place: Place, docker: Containers | None, run: str) -> bool:
    """Whether nothing is left of it."""
    if docker is None and place.remembered(run):
        log.info("emulation_not_removed", run=run, error="Its containers wait for the Docker engine.")
        return False
    try:
        if docker is not None:
            place.remember(run)
            docker.remove(run)
        with FabricClient(place.socket) as fabric:
            fabric.call("destroy", run=run)
    except (DockerGoneError, FabricGoneError, FabricError, DiskFullError) as error:
        log.warning("emulation_not_removed", run=run, error=error.detail)
        return False
    return True


def reap_left_alone(settings: Settings) -> list[str]:
    """Places that processes had for themselves and left when they were killed: everything in them goes. Of other homes' places
    those that nobody uses and nothing is left in."""
    Place.sweep()
    removed = [place.name for place in Place.of_homes() if place.remove_abandoned()]
    for place in Place.left_alone():
        with place.held("owner") as nobodys:
            if nobodys and _clear(settings, place):
                shutil.rmtree(place.folder, ignore_errors=True)
                removed.append(place.name)
    return removed


def _clear(settings: Settings, place: Place) -> bool:
    """Whether nothing is left in it."""
    # Its fabric outlives an owner that was killed, and holds what is to go.
    FabricProcess(settings, place).stop()
    reap_state(settings, place)
    docker = Containers(place.name)
    try:
        for run in docker.runs():
            docker.remove(run)
    except DockerGoneError as error:
        # Its name must stay known for as long as there may be containers of that name.
        log.info("place_not_removed", place=place.name, error=error.detail)
        return not any(place.remembered(run) for run in place.locks())
    finally:
        docker.close()
    return True
