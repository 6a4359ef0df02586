"""The requests of one owner's hosts to a cluster's API server, shared by all hosts that need the
same answer.

Each node of a run is a separate host, with separate threads. Without sharing, a hundred nodes would
list all pods a hundred times per poll. With sharing, the number of calls is the number of pods plus
a few, for any number of nodes. [ours]
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson
from kubernetes.client.exceptions import ApiException

from cubeyard.emulation.cluster.client import CALL_SECS, core, explained, refused_verbs, version
from cubeyard.emulation.deploy.names import PLACE, RUN, owner_name
from cubeyard.emulation.deploy.pod_document import label, owner_document
from cubeyard.emulation.deploy.pod_state import PodState
from cubeyard.settings import EmulationCluster

T = TypeVar("T")
Json = dict[str, Any]

CREATES_AT_A_TIME = 16
"""Parallel requests to create pods, for all nodes together. The API server accepts more, but
kubelets would not be faster."""
LOOK_SECS = 0.25
LIST_SHARE = 0.25
"""Maximum share of time for listing pods. Since long lists take longer, they are requested less
often."""
RIGHTS = {
    "pods": ("create", "get", "list", "delete", "deletecollection"),
    "configmaps": ("create", "get", "list", "delete"),
}
"""Permissions that the chart's Role grants in the servers' namespace."""


class Answer(Generic[T]):
    """A shared answer, for a question that several threads may ask at the same time. A failure is
    shared too."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._asking = threading.Lock()
        self._asked_at = float("-inf")
        self._found: T | None = None
        self._failed: Exception | None = None
        self.secs = 0.0
        """Duration of the last request."""

    def since(self, moment: float) -> T:
        """The cached value if it was requested at `moment` (of `time.monotonic`) or later, else a
        new one."""
        with self._asking:
            if self._asked_at < moment:
                began = time.monotonic()
                try:
                    self._found, self._failed = self._ask(), None
                except Exception as error:
                    self._failed = error
                self._asked_at, self.secs = began, time.monotonic() - began
            if self._failed is not None:
                raise self._failed
            return self._found  # type: ignore[return-value]

    def forget(self) -> None:
        with self._asking:
            self._asked_at = float("-inf")


@dataclass
class _Run:
    """State of one run that all hosts share."""

    lock: threading.RLock
    owner_uid: str = ""
    removed_at: float = float("-inf")
    taken_over: bool = False
    gone_by: float | None = None
    """Deadline for the removal of its pods."""


class PodCalls:
    """The calls of one owner to one cluster. Safe for several threads."""

    def __init__(self, cluster: EmulationCluster, owner: str) -> None:
        self._cluster = cluster
        self._owner = owner
        self._pool = ThreadPoolExecutor(CREATES_AT_A_TIME, "pods")
        self._runs: dict[str, _Run] = {}
        self._knowing = threading.Lock()
        self._pods = Answer(self._list_pods)
        self._owners = Answer(self._list_owners)
        self.version = Answer(lambda: version(cluster, 1.0))
        self.refused = Answer(lambda: refused_verbs(cluster, RIGHTS))
        self.quotas = Answer(self._list_quotas)

    @property
    def _api(self) -> Any:
        return core(self._cluster)

    @property
    def look_secs(self) -> float:
        """Interval between two lists of pods."""
        return max(LOOK_SECS, self._pods.secs / LIST_SHARE)

    def pods(self, since: float, run_id: str | None = None) -> dict[str, PodState]:
        """This owner's pods by name, as they were at `since` or later; all of them, or those of a
        run."""
        result = self._pods.since(since)
        return result if run_id is None else {name: pod for name, pod in result.items() if pod.run == label(run_id)}

    def owners(self, since: float) -> dict[str, str]:
        """The run of each ConfigMap that owns pods, by its label for the run."""
        return self._owners.since(since)

    def _list_pods(self) -> dict[str, PodState]:
        with explained():
            answer = self._api.list_namespaced_pod(
                self._cluster.namespace, label_selector=f"{PLACE}={label(self._owner)}",
                _preload_content=False, _request_timeout=CALL_SECS,
            )  # fmt: skip
            # The client would take seconds to build its objects for a thousand pods.
            return {item.name: item for item in map(PodState.of, orjson.loads(answer.data)["items"])}

    def _list_owners(self) -> dict[str, str]:
        with explained():
            result = self._api.list_namespaced_config_map(
                self._cluster.namespace, label_selector=f"{PLACE}={label(self._owner)}", _request_timeout=CALL_SECS
            ).items
        # The label can be a digest of the run's id; the ConfigMap contains the id.
        return {item.metadata.labels[RUN]: (item.data or {}).get("run", "") for item in result}

    def _list_quotas(self) -> list[Any]:
        """The quotas; None if this account may not read them. Then the API server rejects the first
        pod that exceeds one."""
        with explained():
            try:
                return list(
                    self._api.list_namespaced_resource_quota(self._cluster.namespace, _request_timeout=CALL_SECS).items
                )
            except ApiException as error:
                if error.status == 403:
                    return []
                raise

    def owner_of(self, run_id: str) -> str:
        """The uid of the run's ConfigMap; the first host creates it."""
        run = self._run(run_id)
        with run.lock:
            if not run.owner_uid:
                run.owner_uid = self._make_owner(run_id)
                self._owners.forget()
            return run.owner_uid

    def _make_owner(self, run_id: str) -> str:
        with explained():
            try:
                made = self._api.create_namespaced_config_map(
                    self._cluster.namespace, owner_document(self._owner, run_id), _request_timeout=CALL_SECS
                )
            except ApiException as error:
                if error.status != 409:
                    raise
                made = self._api.read_namespaced_config_map(
                    owner_name(run_id, self._owner), self._cluster.namespace, _request_timeout=CALL_SECS
                )
        return str(made.metadata.uid)

    def create(self, documents: Iterable[Json]) -> None:
        """Creates pods, a few in parallel for all hosts together. After a failure no further ones
        are created; the first failure is raised when the running calls have ended."""
        doing = [self._pool.submit(self._create, document) for document in documents]
        try:
            for item in doing:
                item.result()
        except BaseException:
            for item in doing:
                item.cancel()
            wait(doing)
            raise

    def _create(self, document: Json) -> None:
        with explained():
            self._api.create_namespaced_pod(
                self._cluster.namespace, document, _preload_content=False, _request_timeout=CALL_SECS
            )

    def delete(self, name: str) -> None:
        """Deletes a pod immediately. Can be called again."""
        with explained():
            try:
                self._api.delete_namespaced_pod(
                    name, self._cluster.namespace, grace_period_seconds=0, _request_timeout=CALL_SECS
                )
            except ApiException as error:
                if error.status != 404:
                    raise

    def remove(self, run_id: str, until_gone: Callable[[float], None], gone_secs: float) -> None:
        """Removes a run's pods in one call, then their ConfigMap. Hosts that call at the same time
        share this.

        `until_gone(deadline)` waits for the pods, and raises if they remain. Further tries have the
        same deadline.
        """
        request = time.monotonic()
        run = self._run(run_id)
        with run.lock:
            if run.removed_at >= request:
                return
            with explained():
                self._api.delete_collection_namespaced_pod(
                    self._cluster.namespace,
                    label_selector=f"{PLACE}={label(self._owner)},{RUN}={label(run_id)}",
                    propagation_policy="Background",
                    _request_timeout=CALL_SECS,
                )
            if run.gone_by is None:
                run.gone_by = time.monotonic() + gone_secs
            until_gone(run.gone_by)
            self._delete_owner(run_id)
            run.removed_at = time.monotonic()
            with self._knowing:
                self._runs.pop(run_id, None)
            self._pods.forget()
            self._owners.forget()

    def take_over(self, run_id: str) -> None:
        """Removes the pods of other owners of a run that this owner has taken over. Their nodes can
        be away, so this does not wait; their kubelets end pods that the API server has deleted."""
        others = f"{PLACE}!={label(self._owner)},{RUN}={label(run_id)}"
        run = self._run(run_id)
        with run.lock:
            if run.taken_over:
                return
            with explained():
                self._api.delete_collection_namespaced_pod(
                    self._cluster.namespace, label_selector=others, grace_period_seconds=0, _request_timeout=CALL_SECS
                )
                result = self._api.list_namespaced_config_map(
                    self._cluster.namespace, label_selector=others, _request_timeout=CALL_SECS
                ).items
            for item in result:
                self._delete_config_map(item.metadata.name)
            run.taken_over = True

    def _delete_owner(self, run_id: str) -> None:
        self._delete_config_map(owner_name(run_id, self._owner))

    def _delete_config_map(self, name: str) -> None:
        with explained():
            try:
                self._api.delete_namespaced_config_map(name, self._cluster.namespace, _request_timeout=CALL_SECS)
            except ApiException as error:
                if error.status != 404:
                    raise

    def _run(self, run_id: str) -> _Run:
        with self._knowing:
            return self._runs.setdefault(run_id, _Run(threading.RLock()))


_kept: dict[tuple[str, str], PodCalls] = {}
_keeping = threading.Lock()


def calls_of(cluster: EmulationCluster, owner: str) -> PodCalls:
    """The calls for this cluster and owner, shared by all hosts of this process."""
    with _keeping:
        key = cluster.model_dump_json(), owner
        if key not in _kept:
            _kept[key] = PodCalls(cluster, owner)
        return _kept[key]
