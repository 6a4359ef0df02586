"""Searches of the design space: the cheapest plan that keeps constraints, or the front between
objectives.

In: what a question looks like, and the stream that answers it.

Not in: the search itself, which the engine does. Nothing is stored: a question and a price book
give the same answer again, and a search that nobody reads any more ends.
"""
