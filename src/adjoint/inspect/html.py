"""Tables and explanations for notebooks."""

from html import escape


def table(rows, right=(), notes=()):
    """Rows of texts, the first of them the head, as an HTML table; the columns numbered in `right` to the right."""
    lines = ['<table style="font-family: monospace; white-space: nowrap">']
    for i, row in enumerate(rows):
        tag = "td" if i else "th"
        cells = (
            f'<{tag} style="text-align: {"right" if column in right else "left"}">{escape(text)}</{tag}>'
            for column, text in enumerate(row)
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table>", *(f"<p>{escape(note)}</p>" for note in notes)])


def explanation(text, details):
    """A sentence, and what is known besides as a list; code in back quotes stands out."""
    items = "".join(f"<li>{_with_code(detail)}</li>" for detail in details)
    return f"<p>{_with_code(text)}</p>" + (f"<ul>{items}</ul>" if items else "")


def _with_code(text):
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:  # a back quote without its partner
        return escape(text)
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
