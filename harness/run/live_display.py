"""The view of a run on a terminal: drawn over itself a few times a second, with the lines that stay scrolling by above it."""

from __future__ import annotations

import time

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from harness.run.display import View

_COLOURS = {"ok": "green", "fail": "red", "info": "yellow", "open": "cyan"}


class LiveDisplay:
    """Invariant: `_live` is on the screen from the first view to `close`."""

    wants_leaders = True

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console()
        self._began = time.monotonic()
        self._view = View("deploy")
        self._live = Live(get_renderable=self._draw, console=self._console, refresh_per_second=4, transient=True)
        self._live.start()

    def line(self, text: str) -> None:
        stamp = (f"{time.monotonic() - self._began:7.1f} s  ", "dim")
        self._console.print(Text.assemble(stamp, text), soft_wrap=True)

    def show(self, view: View) -> None:
        self._view = view

    def close(self) -> None:
        self._live.stop()

    def _draw(self) -> RenderableType:
        view = self._view
        left = "" if view.left is None else f", {view.left:.0f} s left"
        parts: list[RenderableType] = [Text.assemble((f"{view.phase}{left}", "bold"), (f"  {self._title}", "dim"))]
        if view.send_rates:
            parts.append(_rates(view))
        if view.leaders:
            led = "  ".join(f"{node} {count}" for node, count in sorted(view.leaders.items()))
            parts.append(Text(f"leaders     {led}    controller {view.controller or 'none'}"))
        if view.send_rates:
            parts.append(Text(f"faults      {', '.join(view.faults) or 'none'}", style="red" if view.faults else ""))
        if view.note:
            parts.append(Text(view.note, style="dim"))
        return Group(*parts)


def _rates(view: View) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=True, header_style="dim")
    table.add_column("")
    for name in (*view.send_rates, "read"):
        table.add_column(name, justify="right", style=_COLOURS.get(name, ""), min_width=8)
    table.add_row("a second", *(f"{rate:,.0f}" for rate in view.send_rates.values()), f"{view.read_rate:,.0f}")
    table.add_row("so far", *(f"{view.sends[name]:,}" for name in view.send_rates), f"{view.reads:,}")
    return table
