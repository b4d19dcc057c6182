"""``python -m tenfold.cli`` is the command `tenfold`."""

from tenfold.cli import main

main()
