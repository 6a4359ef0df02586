"""Files for fabric managers that compare the built network with the planned one: NVIDIA's
point-to-point workbook, UFM, Apstra.

Inside: one file per manager. Each writes every cable of the plan with its two ends.

Not here: reading from a manager. The formats follow the vendors' public documentation;
`ExportFormat.checked` names the program that each was checked with.
"""
