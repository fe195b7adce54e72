"""A page of sections: one HTML file that needs nothing else, not from this machine nor from any other.

What was read stands first, and the page opens with a warning if that was not all: an answer is no better than what it
was computed from. There is no script in it, and whatever comes from facts is escaped.
"""

import re
from collections.abc import Sequence
from html import escape
from typing import Final

from goqueue.spark.reports.canvas import STYLE
from goqueue.spark.reports.section import Cell, Section, Table

_STYLE: Final = (
    ":root{color-scheme:light dark;--ink:#1f2328;--dim:#656d76;--rule:#d5dbe1;--paper:#fff;--warn:#9a5b00}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#98a2ad;--rule:#3a424b;--paper:#0d1117;--warn:#e3bd3c}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:52rem;margin:2rem auto;"
    "padding:0 1rem}h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:3rem;border-top:1px solid var(--rule);"
    "padding-top:1rem}"
    "figure{margin:1rem 0}"
    ".question{font-style:italic}.method,figcaption,caption,footer{color:var(--dim);font-size:.85rem}"
    ".warn{border-left:4px solid var(--warn);padding-left:.8rem}svg{width:100%;height:auto;margin:1rem 0}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;margin:1rem 0}"
    "caption{text-align:left;padding:.2rem 0}th,td{text-align:left;padding:.15rem .7rem .15rem 0;"
    "border-bottom:1px solid var(--rule);white-space:nowrap;overflow-wrap:anywhere}"
    ".long{white-space:normal;min-width:18rem}"
    ".number{text-align:right;font-variant-numeric:tabular-nums}nav ul{columns:2;padding-left:1.2rem}a{color:inherit}"
)

# A number and its unit, or that there is none.
_QUANTITY: Final = re.compile(r"-|[+-]?[0-9][0-9,.e+-]*( [a-zA-Z%/]+)?")
_LONG: Final = 48


def page(title: str, read: Section, sections: Sequence[Section], warnings: Sequence[str] = ()) -> str:
    """The whole page: what was read, then an answer after another; `warnings` come before all."""
    everything = [read, *sections]
    links = "".join(f'<li><a href="#{escape(of.name, quote=True)}">{escape(of.title)}</a></li>' for of in everything)
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}{STYLE}</style></head><body><h1>{escape(title)}</h1>"
    )
    warned = "".join(f'<p class="warn">{escape(words)}</p>' for words in warnings)
    body = "".join(_section(of) for of in everything)
    return f"{head}{warned}<nav><ul>{links}</ul></nav>{body}<footer>All times are UTC.</footer></body></html>\n"


def _section(of: Section) -> str:
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in of.words)
    # The page has the style once, for all of them.
    pictures = "".join(f"<figure>{svg.replace(f'<style>{STYLE}</style>', '')}</figure>" for svg in of.pictures)
    method = f'<p class="method">How: {escape(of.method)}</p>' if of.method else ""
    return (
        f'<section id="{escape(of.name, quote=True)}"><h2>{escape(of.title)}</h2>'
        f'<p class="question">{escape(of.question)}</p>{words}{pictures}'
        f"{''.join(map(_table, of.tables))}{method}</section>"
    )


def _table(of: Table) -> str:
    styles = [_style([row[column] for row in of.rows]) for column in range(len(of.header))]
    more = f" (the first {len(of.rows):,} of {of.count:,})" if of.count else ""
    head = "".join(_cell("th", name, style) for name, style in zip(of.header, styles, strict=True))
    rows = "".join(
        f"<tr>{''.join(_cell('td', _worded(cell), style) for cell, style in zip(row, styles, strict=True))}</tr>"
        for row in of.rows
    )
    caption = f"<caption>{escape(of.title)}{more}</caption>"
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _style(cells: Sequence[Cell]) -> str:
    """How a column is set: numbers, with a unit or without, to the right; what is long in several lines."""
    words = [_worded(cell) for cell in cells if cell is not None]
    if words and all(_QUANTITY.fullmatch(each) for each in words):
        return "number"
    return "long" if any(len(each) > _LONG for each in words) else ""


def _cell(tag: str, words: str, style: str) -> str:
    marked = f' class="{style}"' if style else ""
    return f"<{tag}{marked}>{escape(words)}</{tag}>"


def _worded(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.4g}"
