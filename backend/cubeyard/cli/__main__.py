"""`python -m cubeyard.cli`."""

from cubeyard.cli import main

main()
