"""`python -m adjoint`: a tour of the package in a few seconds."""

import sys

from ._tour import main

sys.exit(main(sys.argv[1:]))
