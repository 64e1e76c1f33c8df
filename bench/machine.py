"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path


def cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def gcc() -> str:
    if shutil.which("gcc") is None:
        return "none"
    return subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()


def describe() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy", "scipy"))
    return f"{cpu()}, {os.cpu_count()} cores; Python {platform.python_version()}, {packages}, gcc {gcc()}"


def load() -> str:
    """Whether the machine had anything else to do when the measurements began."""
    others = os.getloadavg()[0]
    if others < 0.5:
        return "It was idle otherwise."
    return f"It was busy with other things (load {others:.1f} before the start), so times are longer than they need be."
