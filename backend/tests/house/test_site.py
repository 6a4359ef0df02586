"""The documentation site: every link leads somewhere, nothing comes from the network, and the
reference is complete."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from cubeyard import __version__, notebook
from tests.deployment.service_image import TAKEN

ROOT = Path(__file__).resolve().parents[3]
COPY = re.compile(r"^COPY (?!--from)(.+) (\S+)$", re.MULTILINE)


class Seen(HTMLParser):
    """Files, links and anchors of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.inline_scripts = 0
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(value for name, value in given.items() if name in ("id", "name"))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.loaded += [given["src"]] if "src" in given else []
        self.loaded += [given["href"]] if tag == "link" and given.get("rel") != "canonical" else []
        self.inline_scripts += tag == "script" and "src" not in given and given.get("type") != "application/json"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the files alone that the image's stage `docs` copies."""
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("zensical is not installed: make setup")
    folder = tmp_path_factory.mktemp("site")
    service, docs = re.search(
        r"(?ms)^FROM \S+ AS service$(.*?)^FROM service AS docs$(.*?)^FROM", (ROOT / "backend/Dockerfile").read_text()
    ).groups()  # pyright: ignore[reportOptionalMemberAccess]
    for sources, _ in COPY.findall(service + docs):
        for source in sources.split():
            to = folder / source
            to.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copyfile
            copy(ROOT / source, to)
    command = [sys.executable, folder / "bin/site/build.py", folder / "dist/docs"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "dist/docs"


def test_the_image_copies_files_that_its_context_has() -> None:
    """`.dockerignore` lets them through, and the tests' image is built again when one changes; the
    engine is in its wheel."""
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = [line[1:] for line in ignored if line.startswith("!")]
    for sources, _ in COPY.findall((ROOT / "backend/Dockerfile").read_text()):
        for source in sources.split():
            parts = [str(path) for path in (Path(source), *Path(source).parents)]
            assert any(fnmatch(part, pattern) for part in parts for pattern in let_in), source
            assert (ROOT / source).exists(), source
            assert source == "emulator" or not {*parts}.isdisjoint(TAKEN), source


def test_every_link_and_every_file_that_a_page_loads_is_in_the_site(site: Path) -> None:
    pages = {page: Seen(page) for page in site.rglob("*.html") if page.name != "404.html"}
    assert len(pages) > 100
    assert all("tables.css" in {Path(file).name for file in seen.loaded} for seen in pages.values())
    for page, seen in pages.items():
        assert not seen.inline_scripts, f"{page.name}: the content security policy forbids inline scripts"
        for address in [*seen.loaded, *seen.links]:
            if re.match(r"https?://127\.0\.0\.1|mailto:", address):
                continue
            path, _, anchor = unquote(address).partition("#")
            file = (page.parent / path).resolve() if path else page
            if address in seen.links and "//" in address:
                continue  # an address in the text
            assert file.is_file(), f"{page.relative_to(site)}: {address}"
            if anchor and anchor != "__codelineno" and file in pages:
                assert anchor in pages[file].anchors, f"{page.relative_to(site)}: {address}"


def test_the_site_names_its_version_and_can_be_searched(site: Path) -> None:
    assert f"Cubeyard {__version__}" in (site / "index.html").read_text()
    assert "Aggregate bottleneck throughput" in (site / "search.json").read_text()


def test_the_reference_has_every_public_name_and_command(site: Path) -> None:
    python = (site / "reference/python.html").read_text()
    for name in notebook.__all__:
        assert f'id="{name}"' in python
    assert "cubeyard predict" in (site / "reference/cli.html").read_text()
    assert "server-frozen" in (site / "reference/fault-kinds.html").read_text()
    assert "CUBEYARD_DOCS_DIR" in (site / "reference/settings.html").read_text()
    rest = (site / "reference/rest-api.html").read_text()
    assert "POST /api/v1/plans" in rest
    assert "Idempotency-Key" in rest, "a parameter that several calls share"
    assert "Host-limited" in (site / "reference/glossary.html").read_text()
