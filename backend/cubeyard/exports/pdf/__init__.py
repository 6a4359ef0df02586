"""The install pack: a PDF that the cabling crew prints and works from.

Inside: `pack.py`, its parts in order; `cover.py`, sheets (`sheets.py`, `orders.py`), labels and
drawings; `page.py` and `forms.py`, which fit them to the paper; `pack.typ`, the template for the
typesetter Typst; `typesetting.py` with the programs that it runs (`typeset.py`, `stamp.py`,
`bind.py`); fonts.

Not here: reports of runs (`reports/`).

Dates and ids inside the file are fixed: the same plan gives the same bytes.
"""

from cubeyard.exports.pdf.pack import install_pack

__all__ = ["install_pack"]
