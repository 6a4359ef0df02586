"""A fabric's folder for each test alone: `cubeyard clean`, which other tests run, removes folders
whose processes are gone."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cubeyard.settings import Settings


@pytest.fixture
def settings(settings: Settings) -> Iterator[Settings]:
    # Short: the path of a socket has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="cyf-"))
    yield settings.model_copy(update={"fabric_dir": folder})
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _kernel_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a scripted fabric, the features of the kernel count as unknown on every machine."""
    monkeypatch.setattr("cubeyard.emulation.deploy.probe.probe_kernel", lambda _settings: None)
