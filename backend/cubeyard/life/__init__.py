"""A sealed container's life: what failures over years leave of a plan, with repair visits and
spares or without.

In: what a question looks like, and the stream that answers it.

Not in: lifetimes, visits and throughput, which the engine computes. Nothing is stored: a question
and a price book give the same answer again, and a computation that nobody reads any more ends.
"""
