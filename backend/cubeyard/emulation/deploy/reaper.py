"""Removes the leftovers of dead runs, and nothing else: runs of this place whose lock is free."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress

import structlog

from cubeyard.emulation.deploy.containers import UNREACHED, Containers, containers_of
from cubeyard.emulation.deploy.shims import end_shims
from cubeyard.emulation.fabric.client import ANSWER_SECS, FabricClient, FabricError, FabricGoneError, FabricSilentError
from cubeyard.emulation.fabric.fabrics import on_every
from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.fabric.process import FabricProcess, reap_state
from cubeyard.kit.disk import DiskFullError
from cubeyard.settings import Settings

log = structlog.get_logger(__name__)


def reap(settings: Settings, place: Place, kept: list[str] | None = None) -> list[str]:
    """Removes dead runs; returns the runs that were removed on all hosts. If an engine or fabric
    does not respond, the run is tried again the next time, and `kept` gets a sentence."""
    hosts = Hosts.of(settings, place)
    parts = [_Part(settings, host, hosts.owner) for host in hosts.every]
    there = on_every(hosts.every, lambda host: parts[host].runs())
    # A lock without a holder: its run may have leftovers, or died before it had any.
    result = {lock for lock in place.locks() if lock != "owner"}.union(*there)
    removed = []
    for run in sorted(result):
        with place.held(run) as nobodys:
            if not nobodys:
                continue
            # Each host's part is removed, even if another host's cannot be.
            why = [f"Run {run} is not removed. {reason}" for part in parts if (reason := part.remove(place, run))]
            reached = [part.engine for part in parts]
            why += _elsewhere(settings, place, run, hosts.owner, reached)
            if kept is not None:
                kept += why
            if not why:
                place.forget(run)
                removed.append(run)
    for part in parts:
        part.close()
    if removed:
        log.warning("emulations_reaped", runs=removed)
    return removed


class _Part:
    """Resources of one owner on one host."""

    def __init__(self, settings: Settings, host: Host, owner: str) -> None:
        self._host = host
        self._owner = owner
        self._docker: Containers | None = containers_of(settings, owner, host)
        self._silent = ""
        """Why the fabric was not reached; empty if it was, or does not exist."""

    @property
    def engine(self) -> str | None:
        """The id of the host's Docker engine, if it responds."""
        return _id_of(self._docker)

    def runs(self) -> set[str]:
        matches: set[str] = set()
        if self._docker is not None:
            try:
                matches |= set(self._docker.runs())
            except UNREACHED as error:
                log.debug("docker_not_reaped", error=self._host.said(error.detail))
                self._docker = None
        try:
            with FabricClient(self._host.socket) as fabric:
                runs = fabric.call("runs", ANSWER_SECS).get("runs", [])
        except (FabricGoneError, FabricError) as error:
            detail = self._host.said(error.detail)
            self._silent = detail if isinstance(error, FabricSilentError) else ""
            log.debug("fabric_not_reaped", error=detail)
            return matches
        # A fabric of another machine may have runs of other owners too.
        return matches | {str(run["run"]) for run in runs if run.get("owner", self._owner) == self._owner}

    def remove(self, place: Place, run: str) -> str:
        """Removes a run here; returns why parts may remain, or empty if none do."""
        # Containers on recorded engines are removed elsewhere, or the error names those engines.
        if self._docker is None and place.remembered(run) and not place.engines(run):
            why = self._host.said("Its containers wait for the Docker engine.")
            log.info("emulation_not_removed", run=run, error=why)
            return why
        if self._silent:
            return self._silent
        try:
            strays: list[str] = []
            if self._docker is not None:
                place.remember(run)
                strays = self._docker.remove(run)
            with FabricClient(self._host.socket) as fabric:
                # Another worker may have taken over the run meanwhile, so the owner is given.
                fabric.call("destroy", run=run, owner=self._owner, strays=strays)
        except (*UNREACHED, FabricGoneError, FabricError, DiskFullError) as error:
            why = self._host.said(error.detail)
            log.warning("emulation_not_removed", run=run, error=why)
            return why
        return ""

    def close(self) -> None:
        if self._docker is not None:
            self._docker.close()


def _id_of(containers: Containers | None) -> str | None:
    with suppress(*UNREACHED):
        where = containers.where() if containers is not None else None
        return where[1] if where is not None else None
    return None


def _engine(settings: Settings, owner: str, host: Host) -> Containers:
    return containers_of(settings.model_copy(update={"cluster": None}), owner, host)


def _elsewhere(settings: Settings, place: Place, run: str, owner: str, reached: Sequence[str | None]) -> list[str]:
    """Removes a run's containers on recorded Docker engines other than those `reached` (ids).
    Returns why some may remain."""
    left = []
    for address, engine in place.engines(run):
        if engine in reached:
            continue
        containers = _engine(settings, owner, Host("", place.socket, address))
        try:
            containers.answer()  # or raises soon
            same = _id_of(containers) == engine
            if same:
                containers.remove(run)
            why = "" if same else "That engine does not answer there."
        except (*UNREACHED, DiskFullError) as error:
            why = error.detail
        finally:
            containers.close()
        if why:
            if address.startswith(("unix:", "/")) and (shims := end_shims(place.containers(run))):
                log.warning("shims_ended", run=run, shims=shims)
            sentence = f"Run {run} may have containers on the Docker engine at {address}. {why}"
            log.info("emulation_not_removed", run=run, error=sentence)
            left.append(f"{sentence} Start that engine, then run `cubeyard clean`.")
    return left


def reap_left_alone(settings: Settings, kept: list[str] | None = None) -> list[str]:
    """Removes everything in private places of killed processes, and unused empty places of other
    home folders of this user. `kept` gets a sentence for each remaining place."""
    Place.sweep()
    removed = [place.name for place in Place.of_homes() if place.remove_abandoned()]
    for place in Place.left_alone():
        with place.held("owner") as nobodys:
            why = _clear(settings, place) if nobodys else None
            if why == []:
                shutil.rmtree(place.folder, ignore_errors=True)
                removed.append(place.name)
            elif why is not None and kept is not None:
                kept += why
    return removed


def _clear(settings: Settings, place: Place) -> list[str]:
    """Removes everything in a place. Returns why parts may remain."""
    # The fabric outlives a killed owner, and holds the leftovers.
    fabric = FabricProcess(settings, place)
    fabric.stop()
    if why := fabric.end_hung() or reap_state(settings, place):
        log.info("place_not_removed", place=place.name, error=why)
        return [why]
    docker = _engine(settings, place.name, Host("", place.socket))
    left: list[str] = []
    containers: list[str] = []
    try:
        containers += docker.runs()
        for run in containers:
            docker.remove(run)
    except UNREACHED as error:
        # The name must stay known as long as containers with it may exist.
        log.info("place_not_removed", place=place.name, error=error.detail)
        if containers or any(place.remembered(run) and not place.engines(run) for run in place.locks()):
            left.append(f"{place.folder} may have containers. {error.detail}")
    finally:
        engine = _id_of(docker)
        docker.close()
    for run in place.locks():
        left += _elsewhere(settings, place, run, place.name, [engine])
    return left
