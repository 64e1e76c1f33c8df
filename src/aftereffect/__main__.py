"""`python -m aftereffect`."""

from aftereffect.cli import main

if __name__ == "__main__":
    main()
