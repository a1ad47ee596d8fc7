"""`python -m gossamer.cli` is `gossamer`."""

import sys

from gossamer.cli.main import main

sys.exit(main())
