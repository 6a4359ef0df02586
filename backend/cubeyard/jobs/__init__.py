"""Downloads of a plan in every export format, at once or as jobs in the background."""
