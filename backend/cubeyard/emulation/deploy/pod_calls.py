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
"""Parallel requests of all nodes together. The API server accepts more, but that makes the kubelets
no faster."""
LOOK_SECS = 0.25
LIST_SHARE = 0.25
"""The largest share of time spent on listing pods: long lists of many pods are polled less
often."""
RIGHTS = {
    "pods": ("create", "get", "list", "delete", "deletecollection"),
    "configmaps": ("create", "get", "list", "delete"),
}
"""The permissions of the chart's Role in the servers' namespace."""


class Answer(Generic[T]):
    """To a question that several may have at a time; a failure is one, too."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._asking = threading.Lock()
        self._asked_at = float("-inf")
        self._found: T | None = None
        self._failed: Exception | None = None
        self.secs = 0.0
        """How long the last one took."""

    def since(self, moment: float) -> T:
        """A value that was requested at that moment of `time.monotonic` or later: the cached one,
        or a new one."""
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
    """The hosts' shared state of one run."""

    lock: threading.RLock
    owner_uid: str = ""
    removed_at: float = float("-inf")
    taken_over: bool = False
    gone_by: float | None = None
    """Until when its pods, which are being removed, are waited for."""


class PodCalls:
    """Safe for several threads."""

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
        """How long to wait between two looks at pods."""
        return max(LOOK_SECS, self._pods.secs / LIST_SHARE)

    def pods(self, since: float, run_id: str | None = None) -> dict[str, PodState]:
        """This owner's, by name, as they were at that moment or later; or only those of a run."""
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
            # The client's own objects of a thousand pods would take seconds.
            return {item.name: item for item in map(PodState.of, orjson.loads(answer.data)["items"])}

    def _list_owners(self) -> dict[str, str]:
        with explained():
            result = self._api.list_namespaced_config_map(
                self._cluster.namespace, label_selector=f"{PLACE}={label(self._owner)}", _request_timeout=CALL_SECS
            ).items
        # The label can be a digest of the run's id; the ConfigMap contains the id.
        return {item.metadata.labels[RUN]: (item.data or {}).get("run", "") for item in result}

    def _list_quotas(self) -> list[Any]:
        """None where they are not ours to read: the API server refuses the pod that is one too
        many."""
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
        """A few at a time, of all hosts. The first failure is raised, after those under way have
        ended; the rest are not begun."""
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
        """At once. Harmless to call again."""
        with explained():
            try:
                self._api.delete_namespaced_pod(
                    name, self._cluster.namespace, grace_period_seconds=0, _request_timeout=CALL_SECS
                )
            except ApiException as error:
                if error.status != 404:
                    raise

    def remove(self, run_id: str, until_gone: Callable[[float], None], gone_secs: float) -> None:
        """A run's pods by one call, then what owns them, once for all hosts that ask at a time.

        `until_gone(deadline)` waits for the pods, and raises if they stay. A further try has the
        same deadline: the pods have had their time.
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
    """The same for all hosts of this process."""
    with _keeping:
        key = cluster.model_dump_json(), owner
        if key not in _kept:
            _kept[key] = PodCalls(cluster, owner)
        return _kept[key]
