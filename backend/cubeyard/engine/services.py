"""Services that users write: their modules, and trials in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from cubeyard.built_plan import Json
from cubeyard.engine.call import Calls, OnProgress, as_text, binding


class Services(Calls):
    def service_module(self, module: bytes) -> bytes:
        """A module that can be a service, in WebAssembly's binary format, from one or from the text
        format.

        Raises PlanRejectedError with what is wrong with it.
        """
        with self._call("service_module"):
            return binding().service_module(module)

    def service_limits(self) -> Json:
        """Of services that users write:
        `{module_bytes, services, first_id, last_id, max_servers, max_secs}`, the last two of a
        trial."""
        return orjson.loads(binding().service_limits())

    def service_trial(self, module: bytes, options: Mapping[str, Any], on_progress: OnProgress | None = None) -> Json:
        """A module on every server of a torus in virtual time: what was delivered over how many
        hops, calls, fuel, and what was lost.

        `options`: `{size: [x, y, z], secs, message, rate_bits_per_sec, seed}`. Takes a turn among
        the long ones where it is watched. Raises PlanRejectedError, CancelledError.
        """
        with self._call("service_trial", long=on_progress is not None):
            return orjson.loads(binding().service_trial(module, as_text(options), on_progress))

    def built_in_trial(self, name: str, options: Mapping[str, Any], on_progress: OnProgress | None = None) -> Json:
        """The same of one of the services that every server of a run hosts, by its name. Raises
        PlanRejectedError, CancelledError."""
        with self._call("built_in_trial", long=on_progress is not None):
            return orjson.loads(binding().built_in_trial(name, as_text(options), on_progress))

    def service_process_trial(self, answer: Callable[[bytes], bytes], options: Mapping[str, Any]) -> Json:
        """The same of a service in a process: `answer` gives what it answers to a call. Raises what
        that does, and PlanRejectedError."""
        with self._call("service_process_trial"):
            return orjson.loads(binding().service_process_trial(answer, as_text(options)))
