"""The install pack: a PDF that the cabling crew prints and works from.

In: `pack.py`, its parts in order; `cover.py`, sheets (`sheets.py`, `orders.py`), labels and
drawings; `page.py` and `forms.py`, how they fit their paper; `pack.typ`, their look, for the
typesetter Typst; `typesetting.py` with the programs that it runs (`typeset.py`, `stamp.py`,
`bind.py`); fonts.

Not in: reports of runs (`reports/`).

Dates and ids inside the file are fixed: the same plan is the same bytes.
"""

from cubeyard.exports.pdf.pack import install_pack

__all__ = ["install_pack"]
