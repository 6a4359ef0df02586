"""Plans: saved specs with revisions, and the results computed from them.

Inside: creating, reading, changing and reverting plans, comparisons, work orders; `spec.py`, checks
of a spec before the engine reads it; `view.py`, one computed plan for the exports;
`site_limits.py`, the limits of the site in words; `documents/`, models of the engine's documents;
`over_time.py`, the changes between two revisions; `work/`, the progress of a revision's cabling.

Not here: the computation, which the engine does. Only a summary of its results is stored.
"""
