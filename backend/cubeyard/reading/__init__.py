"""Files of other programs: tables, numbers, names and lists of cables, read by one set of rules.
[ours]

In: text in any encoding (`text.py`) and files that are named but not read (`foreign.py`), rows of
CSV, XLSX and columns aligned by spaces under a header (`tables.py`, `header.py`, `workbooks.py`,
`aligned.py`), numbers and lengths as people write them (`numbers.py`), which two texts are one name
(`names.py`), mistakes by sheet, row and column (`problems.py`), and lists of cables (`cables/`).

Not in: plans, price books and networks. Who imports a file compares its names and numbers with
those.
"""
