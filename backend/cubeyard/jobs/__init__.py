"""Downloads of a plan in every export format, at once or as jobs in the background.

In: jobs with progress, cancellation and their finished files; the queue that the workers read.

Not in: the formats (`exports/`), and runs of experiments (`runs/`), which have leases of their own.

A job whose worker died goes back to the queue, a limited number of times.
"""
