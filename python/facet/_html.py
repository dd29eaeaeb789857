"""Tables for notebooks."""
from __future__ import annotations

import html
from typing import Any, Iterable, Tuple


def table(title: str, rows: Iterable[Tuple[str, Any]]) -> str:
    cells = "".join(f"<tr><th style='text-align:left'>{html.escape(str(name))}</th>"
                    f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table><caption><b>{html.escape(title)}</b></caption>{cells}</table>"
