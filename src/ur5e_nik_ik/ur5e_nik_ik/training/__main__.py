"""`python -m ur5e_nik_ik.training`."""

from ur5e_nik_ik.training.cli import main

main()
