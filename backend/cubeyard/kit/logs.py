"""Structured logs: one JSON object a line on standard error (or readable lines for a terminal)."""

from __future__ import annotations

import logging
import os
import sys
from importlib.util import find_spec

if find_spec("structlog") is None:
    # It is imported when logs are configured: the help of a command needs none.
    raise ModuleNotFoundError("No module named 'structlog'", name="structlog")


def configure(level: str = "info", form: str = "json") -> None:
    """Send structlog's and the standard library's records the same way."""
    import structlog

    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty() and not os.environ.get("NO_COLOR"))
        if form == "console"
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.add_logger_name,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "procrastinate"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    # Our own middleware logs each request with its id.
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    logging.getLogger("procrastinate").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
