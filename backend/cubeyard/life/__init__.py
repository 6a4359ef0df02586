"""The lifetime of a sealed container: the throughput and servers that remain after years of
failures, with or without repair visits and spares.

Inside: the request, and the stream of results.

Not here: lifetimes, visits and throughput, which the engine computes. Nothing is stored: the same
request and price book give the same result, and a computation ends when its reader disconnects.
"""
