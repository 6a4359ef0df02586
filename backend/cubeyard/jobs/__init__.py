"""Downloads of a plan in every export format, at once or as jobs in the background.

Inside: jobs with progress, cancellation and their finished files; the queue that the workers read.

Not here: the formats (`exports/`), and runs of experiments (`runs/`), which have separate leases.

A job whose worker died returns to the queue, a limited number of times.
"""
