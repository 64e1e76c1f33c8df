"""What records say, as one HTML page that a boss or a regulator can read; it needs nothing else and runs no script."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from markupsafe import Markup

from aftereffect._files import output_folder, write_output
from aftereffect.records.fit import Fit
from aftereffect.report.drawing import picture
from aftereffect.report.fit_figure import draw_fit, draw_history
from aftereffect.report.page import content_hash, page_style, template


def write_learned(directory: Path, fit: Fit, document: dict[str, Any], source: str) -> list[Path]:
    """The page and its figures in a directory."""
    folder = output_folder(directory)
    curves, history = draw_fit(fit), draw_history(fit)
    first, second = (picture(figure, "svg", Date=None) for figure in (curves, history))
    written = [write_output(folder / "report.html", page(document, first, second, source).encode())]
    for name, figure in (("curves", curves), ("history", history)):
        written.append(write_output(folder / f"{name}.png", picture(figure, "png")))
    return written


def page(document: dict[str, Any], curves: bytes, history: bytes, source: str) -> str:
    """The page's text."""
    style = page_style()
    text: str = template("fit.html").render(
        title=f"What {source} says",
        style=Markup(style),
        style_hash=content_hash(style),
        d=document,
        curves=base64.b64encode(curves).decode(),
        history=base64.b64encode(history).decode(),
    )
    return text
