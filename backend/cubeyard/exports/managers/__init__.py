"""What fabric managers take to compare the built network with the planned one: NVIDIA's
point-to-point workbook, UFM, Apstra.

In: one file per manager. Each writes every cable of the plan with its two ends.

Not in: fetching from a manager. The formats are written from the makers' public documentation;
`ExportFormat.checked` says with what each was read back.
"""
