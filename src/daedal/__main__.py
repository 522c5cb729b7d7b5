"""`python -m daedal` is the command `daedal`."""

from daedal.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
