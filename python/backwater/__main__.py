"""``python -m backwater``."""

import sys

from backwater.cli import main

sys.exit(main())
