"""Folders of ours, and remarks on folders of others."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cubeyard import settings


def make_folder(path: Path) -> list[Path]:
    """Makes a folder and its missing parents, closed to others; returns the new folders."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    made: list[Path] = []
    for folder in reversed(missing):
        try:
            folder.mkdir(0o700)
        except FileExistsError:
            if not folder.is_dir():
                raise
        else:
            made.append(folder)
    return made


def remarks(home: Path) -> list[str]:
    """Sentences on data at an old place, and on folders that an earlier version opened for it. It
    kept no record, so that nothing is changed back."""
    if os.geteuid() != 0 or not settings.has_data(home):
        return []
    sentences = []
    if home == settings.user_home():
        sentences.append(
            f"Root's data stays in {home}, where earlier versions kept it. To keep it in {settings.SYSTEM_HOME}, end Cubeyard and run:"
            f" mv {home} {settings.SYSTEM_HOME}"
        )
    for folder in (*home.parents, *Path(__file__).parents):
        status = folder.stat()
        if status.st_uid == 0 and status.st_mode & stat.S_IRWXO == stat.S_IXOTH:
            sentence = (
                f"Every user can pass through {folder}; an earlier version of Cubeyard may have opened it. It no longer needs"
                f" that. To close it: chmod o-x {folder}"
            )
            if sentence not in sentences:
                sentences.append(sentence)
    return sentences
