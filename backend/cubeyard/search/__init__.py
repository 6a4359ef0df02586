"""Searches of the design space: the cheapest plan that meets constraints, or the Pareto front of
several objectives.

Inside: the request, and the stream of results.

Not here: the search, which the engine does. Nothing is stored: the same request and price book give
the same result, and a search ends when its reader disconnects.
"""
