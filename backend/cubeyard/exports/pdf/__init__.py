"""The install pack: a PDF that the cabling crew prints and works from.

In: `pack.py`, its parts in order; sheets, strips and drawings; `pack.typ`, its layout for the typesetter Typst; its fonts.

Not in: reports of runs (`reports/`).

Dates and ids inside the file are fixed: the same plan is the same bytes.
"""

from cubeyard.exports.pdf.pack import install_pack

__all__ = ["install_pack"]
