"""Settings from files, as Kubernetes mounts Secrets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

READ = """
from cubeyard.settings import Settings
s = Settings()
print(s.database_url, s.token.get_secret_value(), s.database_password.get_secret_value())
"""


def test_settings_come_from_files_and_the_environment_wins(tmp_path: Path) -> None:
    (tmp_path / "..data").mkdir()
    secrets = {
        "DATABASE_URL": "postgresql://a@db/x",
        "DATABASE_PASSWORD": "p'@/s",
        "CUBEYARD_TOKEN": "0123456789abcdef",
    }
    for name, value in secrets.items():
        (tmp_path / "..data" / name).write_text(f"{value}\n")
        (tmp_path / name).symlink_to(Path("..data", name))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUBEYARD_", "DATABASE_"))}

    def read(**given: str) -> str:
        environment = {**kept, "CUBEYARD_SECRETS_DIR": str(tmp_path), **given}
        command = [sys.executable, "-W", "error", "-c", READ]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert read() == "postgresql://a@db/x 0123456789abcdef p'@/s"
    assert read(DATABASE_URL="postgresql://other/x") == "postgresql://other/x 0123456789abcdef p'@/s"
