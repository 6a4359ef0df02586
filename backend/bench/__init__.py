"""`make bench`: the speed of this machine against the promises, each as a ratio measured in one
run."""
