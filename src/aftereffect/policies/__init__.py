"""The policies. Importing this package makes every policy known by its name: those among the public names."""

from importlib import import_module

from aftereffect import HOMES

for home in sorted(set(HOMES.values())):
    if home.startswith(f"{__name__}."):
        import_module(home)
