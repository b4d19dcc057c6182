"""``python -m tenfold.cli`` is the command `tenfold`."""

from tenfold.cli import main

if __name__ == "__main__":  # worker processes import this file, too
    main()
