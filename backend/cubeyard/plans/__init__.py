"""Plans: saved specs with revisions, and everything computed from them.

In: creating, reading, changing and reverting plans, comparisons, work orders; `spec.py`, what a
spec is before the engine reads it; `view.py`, one computed plan for the exports; `site_limits.py`,
the limits of the site in words; `documents/`, the shapes of the engine's documents; `over_time.py`,
what changed between two revisions; `work/`, how far a revision's cabling is.

Not in: the computation itself, which is the engine's; nothing computed is stored but a summary.
"""
