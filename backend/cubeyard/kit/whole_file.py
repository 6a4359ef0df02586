"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """A temporary file in the same folder that replaces `target` at the end of the context. A
    device or pipe is written to and stays what it is. An OSError names `target`."""
    target = target.resolve()
    is_replaced = target.is_file() or not target.exists()
    partial = target.with_name(f".{target.name}.partial") if is_replaced else target
    try:
        with partial.open("wb") as file:
            yield file
        if is_replaced:
            partial.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    finally:
        if is_replaced:
            partial.unlink(missing_ok=True)
