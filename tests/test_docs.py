"""Every code block in the README, the docs and the contributor's guide runs as it stands."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.forked import run_python

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
OF_OTHERS = (
    "console",
    "py",
    "ini",
    "dockerfile",
    "nginx",
)  # needs a server under way (see tests/service), or another program
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    """Block after block in one directory, in the page's order; a block that begins with a file's name is that file, a TOML
    block the file that its name says.
    """
    for kind, code in blocks(page):
        named = re.match(r"# ([\w-]+\.\w+)\n", code)
        if named:
            (tmp_path / named[1]).write_text(code)
            if named[1].startswith("test_"):
                run(["-m", "pytest", "-q", "-p", "no:cacheprovider", named[1]], tmp_path)
        elif kind == "python":
            run_block(code, tmp_path)
        elif kind == "toml":
            (tmp_path / f"{tomllib.loads(code)['name']}.toml").write_text(code)
        elif kind not in OF_OTHERS:
            assert kind == "sh", f"do not know how to run a block of kind {kind!r}"
            for line in filter(None, (text.split("#")[0].strip() for text in code.splitlines())):
                run_line(line, tmp_path)


def run_block(code: str, where: Path) -> None:
    # Each block in a process of its own: what it registers must not leak into other tests.
    (where / "block.py").write_text("import matplotlib\nmatplotlib.use('Agg')\n" + code)
    run(["block.py"], where)


def run_line(line: str, where: Path) -> None:
    program, *arguments = line.split()
    if program == "make":  # a dry run: the targets themselves are what runs this test
        subprocess.run(["make", "-n", *arguments], cwd=ROOT, capture_output=True, check=True)
    else:
        assert program == "aftereffect", f"do not know how to run {line!r}"
        run(["-m", "aftereffect", *arguments], where)


def run(arguments: list[str], where: Path) -> None:
    done = run_python(arguments, where)
    assert done.returncode == 0, f"python {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target
