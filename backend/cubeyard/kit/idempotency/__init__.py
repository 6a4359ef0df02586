"""`Idempotency-Key`: a POST that creates something is done once, however often it is sent. [ours]

In: the table of keys with their answers, kept for 24 hours for each token, and the route that
answers a repeated request with the first answer.

Not in: answers of requests that failed, which changed nothing and may be sent again, and the secret
of a new token or webhook. A key is held by an advisory lock of the request's own
transaction, which also keeps the answer, so a process that dies leaves either both or neither.
"""
