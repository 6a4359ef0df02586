"""Settings from files, as Kubernetes mounts Secrets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

READ = "from cubeyard.settings import Settings; s = Settings(); print(s.database_url, s.token.get_secret_value())"


def test_settings_come_from_files_and_the_environment_wins(tmp_path: Path) -> None:
    (tmp_path / "..data").mkdir()
    for name, value in (("DATABASE_URL", "postgresql://a:b@db/x\n"), ("CUBEYARD_TOKEN", "0123456789abcdef\n")):
        (tmp_path / "..data" / name).write_text(value)
        (tmp_path / name).symlink_to(Path("..data", name))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUBEYARD_", "DATABASE_URL"))}

    def read(**given: str) -> str:
        environment = {**kept, "CUBEYARD_SECRETS_DIR": str(tmp_path), **given}
        command = [sys.executable, "-W", "error", "-c", READ]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert read() == "postgresql://a:b@db/x 0123456789abcdef"
    assert read(DATABASE_URL="postgresql://other/x") == "postgresql://other/x 0123456789abcdef"
