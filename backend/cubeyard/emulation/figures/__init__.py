"""Published figures, measured: the paper's experiment with real packets on this machine, its numbers beside ours."""
