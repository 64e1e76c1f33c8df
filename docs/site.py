"""What the site has besides the pages here: the README as its first page, the guides of the root, and the public names."""

from __future__ import annotations

import re
import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
RELEASES = ROOT / "out" / "site"
FROM_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
PUBLIC = re.compile(r"^from (aftereffect[\w.]*) import (\w+) as \2$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def on_config(config: Any) -> Any:
    """Every page says which release it is of, and each release has a directory of its own unless another is asked for."""
    config.site_name = f"{config.site_name} {VERSION}"
    if Path(config.site_dir) == RELEASES:
        config.site_dir = str(RELEASES / VERSION)
    return config


def on_post_build(config: Any) -> None:
    """A first page beside the releases that leads to each that was built here."""
    if Path(config.site_dir).parent == RELEASES:
        built = sorted(page.parent.name for page in RELEASES.glob("*/index.html"))
        links = "".join(f'<li><a href="{name}/index.html">Aftereffect {name}</a></li>' for name in built)
        (RELEASES / "index.html").write_text(f"<!doctype html><title>Aftereffect</title><ul>{links}</ul>\n")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in this folder, and those that no chapter names."""
    for source, page in FROM_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    files.append(File.generated(config, "api.md", content=_public_names()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links lead from the root in those pages, and out of this folder in the others: both become links of the site."""
    del page, config

    def moved(link: re.Match[str]) -> str:
        target = link[1].removeprefix("docs/")
        if target.removeprefix("../") in FROM_ROOT:
            target = FROM_ROOT[target.removeprefix("../")]
        known = target.startswith(("http", "#")) or files.get_file_from_path(target.partition("#")[0]) is not None
        return f"]({target})" if known else "]"  # a file of the repository that is no page: its name stays

    return LINK.sub(moved, markdown)


def _public_names() -> str:
    found = PUBLIC.findall((ROOT / "src/aftereffect/__init__.pyi").read_text())
    parts = ["# Public names\n\nAll of these are there as `ae.NAME` after `import aftereffect as ae`.\n"]
    for module, names in groupby(found, key=lambda item: item[0]):
        parts.append(f"\n## {module.removeprefix('aftereffect.')}\n\n")
        parts += [f"::: {module}.{name}\n\n" for _, name in names]
    parts.append("\n## For authors\n\n::: aftereffect.author\n\n::: aftereffect.testing\n\n::: aftereffect.gym\n")
    return "".join(parts)
