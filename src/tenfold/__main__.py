"""``python -m tenfold`` is the command `tenfold`."""

from tenfold.app.cli import main

if __name__ == "__main__":  # worker processes import this file, too
    main()
