"""The cabling as built beside the plan: what is missing, swapped, too long or in the wrong port,
and how to repair it. [ours]

In: the plan's ports by the names that a list may use (`names.py`), what each cable and each found
link is (`matching.py`), the shortest work order (`order.py`, its steps `steps.py`), and both as a
document (`document.py`).

Not in: reading lists of cables (`cubeyard.reading`), the marks of crew mode
(`cubeyard.plans.work`), and turning one plan into another, which the engine does (`BuiltPlan`,
`Engine.work_order_json`). Nothing is stored: the same list and plan give the same document.
"""
