"""Builds the documentation site: `build.py FOLDER`. It copies every document to a temporary folder,
adds the generated reference, and calls zensical. The pages load nothing from the network and have
no inline scripts, which the server's content security policy forbids."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import reference

ROOT = Path(__file__).resolve().parents[2]
# Documents outside `docs/`, by their path in the repository and in the site.
ELSEWHERE = {
    "README.md": "start.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "ARCHITECTURE.md": "contributing/architecture.md",
    "backend/cubeyard/cli/service_templates/README.md": "tutorials/own-service.md",
}
SECTIONS = {
    "tutorials": "Tutorials",
    "how-to": "How to",
    "reference": "Reference",
    "explanation": "Explanation",
    "decisions": "Decisions",
    "contributing": "Contributing",
}
PICTURES = {".png", ".webp", ".svg"}
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class Site:
    """The sources of the site, in a folder that zensical reads."""

    def __init__(self, sources: Path) -> None:
        self.sources = sources
        documents = {str(path.relative_to(ROOT)): str(path.relative_to(ROOT / "docs")) for path in documents_of("docs")}
        self.pages = {path: re.sub(r"(^|/)README\.md$", r"\1index.md", page) for path, page in documents.items()}
        self.pages |= ELSEWHERE

    def write(self) -> None:
        self.copy("frontend/public/icon.svg", "icon.svg")
        self.copy("bin/site/tables.css", "tables.css")
        for path, page in self.pages.items():
            self.put(page, self.with_links((ROOT / path).read_text(), path, page))
        made = reference.pages()
        for page in made:
            self.put(f"reference/{page.file}", page.text)
        with (self.sources / "reference/index.md").open("a") as index:
            index.write("\n## Generated from this version\n\n")
            index.writelines(f"- [{page.title}]({page.file}): {page.about}\n" for page in made)

    def put(self, page: str, text: str) -> None:
        file = self.sources / page
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def copy(self, path: str, page: str) -> None:
        file = self.sources / page
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, file)

    def with_links(self, text: str, path: str, page: str) -> str:
        """The document with its links as the site's. A link to a file that is not in the site
        becomes the file's name."""

        def to_site(match: re.Match[str]) -> str:
            title, target, anchor = match[1], match[2], match[3] or ""
            if not target or "//" in target or target.startswith("mailto:"):
                return match[0]
            named = os.path.normpath(os.path.join(os.path.dirname(path), target))  # noqa: PTH118, PTH120
            in_site = self.pages.get(named) or self.pages.get(f"{named}/README.md")
            if Path(named).suffix in PICTURES and (ROOT / named).is_file():
                in_site = f"pictures/{Path(named).name}"
                self.copy(named, in_site)
            if in_site is None:
                return title if title.strip("`") == named else f"{title} (`{named}`)"
            return f"[{title}]({os.path.relpath(in_site, os.path.dirname(page) or '.')}{anchor})"  # noqa: PTH120

        parts, end = [], 0
        for fence in FENCE.finditer(text):
            parts += [LINK.sub(to_site, text[end : fence.start()]), fence[0]]
            end = fence.end()
        return "".join([*parts, LINK.sub(to_site, text[end:])])

    def title(self, page: str) -> str:
        first = (self.sources / page).read_text().partition("\n")[0]
        return first.removeprefix("# ").replace("`", "")

    def navigation(self) -> list[tuple[str, str | list[tuple[str, str]]]]:
        """Each section in the order of its index; a page that no index lists is an error."""
        nav: list[tuple[str, str | list[tuple[str, str]]]] = [("Documentation", "index.md"), ("Start", "start.md")]
        listed = {"index.md", "start.md", "changelog.md"}
        for folder, title in SECTIONS.items():
            index = f"{folder}/index.md"
            text = FENCE.sub("", (self.sources / index).read_text())
            entries = [("Overview", index)]
            for _, target, _ in LINK.findall(text):
                page = os.path.normpath(f"{folder}/{target}")
                if page.startswith(f"{folder}/") and page.endswith(".md") and page not in listed and page != index:
                    entries.append((self.title(page), page))
                    listed.add(page)
            listed.add(index)
            nav.append((title, entries))
        nav.append(("Changes", "changelog.md"))
        every = {str(path.relative_to(self.sources)) for path in self.sources.rglob("*.md")}
        if missing := sorted(every - listed):
            sys.exit(f"error: no index of a section lists {', '.join(missing)}")
        return nav


def documents_of(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.md"))


def toml(value: object) -> str:
    """Titles and paths as an inline table; JSON's strings are TOML's."""
    if isinstance(value, list):
        return "[" + ", ".join(f"{{ {json.dumps(title)} = {toml(page)} }}" for title, page in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def without_inline_scripts(out: Path) -> None:
    """Moves each inline script of a page to a file, which the content security policy allows."""
    written: set[str] = set()
    for page in out.rglob("*.html"):
        folder = os.path.relpath(out, page.parent)

        def moved(match: re.Match[str], folder: str = folder) -> str:
            name = f"inline-{hashlib.sha256(match[1].encode()).hexdigest()[:12]}.js"
            if name not in written:
                (out / "assets/javascripts" / name).write_text(match[1])
                written.add(name)
            return f'<script src="{folder}/assets/javascripts/{name}"></script>'

        page.write_text(INLINE_SCRIPT.sub(moved, page.read_text()))


def build(out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".docs-", dir=out.parent) as folder:
        project = Path(folder)
        site = Site(project / "docs")
        site.write()
        settings = (Path(__file__).parent / "zensical.toml").read_text()
        settings = settings.replace("@version@", reference.version()).replace('"@nav@"', toml(site.navigation()))
        (project / "zensical.toml").write_text(settings)
        zensical = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(zensical, cwd=project, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"error: zensical did not build the documentation:\n{done.stdout}{done.stderr}")
        without_inline_scripts(project / "site")
        shutil.rmtree(out, ignore_errors=True)
        (project / "site").rename(out)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: build.py FOLDER")
    build(Path(sys.argv[1]).resolve())
