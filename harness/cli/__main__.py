"""`python -m harness.cli`: what the launcher hands over to."""

import sys

from harness.cli.main import main

sys.exit(main(sys.argv[1:]))
