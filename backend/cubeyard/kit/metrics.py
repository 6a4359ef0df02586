"""Metrics of `/metrics`, in Prometheus's text format. Each application has a registry: tests share
no counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

if TYPE_CHECKING:
    from sqlalchemy import Engine

LATENCY_BUCKETS_SECS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

__all__ = ["CONTENT_TYPE_LATEST", "Metrics"]


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "cubeyard_http_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self.request_secs = Histogram(
            "cubeyard_http_request_seconds",
            "From the request's head to the answer's last byte.",
            ["method", "route"],
            buckets=LATENCY_BUCKETS_SECS,
            registry=self.registry,
        )
        self.in_flight = Gauge("cubeyard_http_requests_in_flight", "Requests being answered.", registry=self.registry)
        self.engine_secs = Histogram(
            "cubeyard_engine_seconds",
            "Time the engine took.",
            ["operation"],
            buckets=LATENCY_BUCKETS_SECS,
            registry=self.registry,
        )
        self.engine_wait_secs = Histogram(
            "cubeyard_engine_wait_seconds",
            "Time spent waiting for a turn at the engine.",
            buckets=LATENCY_BUCKETS_SECS,
            registry=self.registry,
        )
        self.engine_busy = Gauge("cubeyard_engine_busy", "Engine calls running.", registry=self.registry)
        self.plan_cache = Counter(
            "cubeyard_plan_cache", "Plans asked of the cache.", ["outcome"], registry=self.registry
        )
        self.plan_cache_entries = Gauge("cubeyard_plan_cache_entries", "Plans in the cache.", registry=self.registry)
        self._pool_used = Gauge("cubeyard_database_connections_used", "Connections in use.", registry=self.registry)
        self._pool_idle = Gauge("cubeyard_database_connections_idle", "Connections kept open.", registry=self.registry)

    def watch_pool(self, engine: Engine) -> None:
        from sqlalchemy.pool import QueuePool  # the engine's mathematics is measured too, without a database

        pool = engine.pool
        if isinstance(pool, QueuePool):
            self._pool_used.set_function(pool.checkedout)
            self._pool_idle.set_function(pool.checkedin)

    def text(self) -> bytes:
        return generate_latest(self.registry)
