"""`python -m ur5e_nik_ik.benchmark`."""

import sys

from ur5e_nik_ik.benchmark.cli import main

sys.exit(main())
