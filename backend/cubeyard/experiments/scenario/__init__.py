"""Scenarios: an experiment and what it is expected to hold, as one YAML file for git and CI.

In: `document.py`, YAML read with the line of every value; `model.py`, what a scenario holds, from
and to an experiment; `reading.py`, a file as an experiment, with errors by path and line;
`verdict.py`, hypotheses against results; `junit.py`, verdicts for CI systems.

Not in: running one (`cli/scenario.py`, `runs/`).
"""
