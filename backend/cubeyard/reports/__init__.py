"""Reports: a run as a page to keep, print or send: what was asked, what came out, and where it is from."""
