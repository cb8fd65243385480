# SPDX-License-Identifier: Apache-2.0
"""guest_storm.py COUNT - many names in the current folder, checked as they come and go.

Runs on an NFS client: create, rename (within, across and over), list, unlink while listing.
"""
import os
import sys


def expect(what, got, wanted):
    if got != wanted:
        missing, extra = sorted(wanted - got)[:5], sorted(got - wanted)[:5]
        sys.exit(f"{what}: {len(got)} names instead of {len(wanted)}; missing {missing},"
                 f" unexpected {extra}")


def create(folder, names):
    for name in names:
        os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))


def listing(folder):
    """All names; a name that comes twice is an error."""
    names = [entry.name for entry in os.scandir(folder)]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        sys.exit(f"{folder}: listed twice: {twice[:5]}")
    return set(names)


def storm(count):
    os.mkdir("a")
    os.mkdir("b")
    names = [f"name-{number:05d}" + "x" * (number % 7 * 20) for number in range(count)]
    create("a", names)
    expect("after creation", listing("a"), set(names))

    moved = set(names[::3])
    for name in moved:
        os.rename(f"a/{name}", f"b/{name}")
    expect("after renames, source", listing("a"), set(names) - moved)
    expect("after renames, target", listing("b"), moved)

    replaced = sorted(moved)[::2]
    for name in replaced:
        os.link(f"b/{name}", f"a/{name}")
        os.rename(f"b/{name}", "a/replaced by all")
    expect("after replacing", listing("a"),
           (set(names) - moved) | set(replaced) | {"replaced by all"})

    unlink_while_listing("a")
    for name in listing("b"):
        os.unlink(f"b/{name}")
    os.rmdir("a")
    os.rmdir("b")


def unlink_while_listing(folder):
    """Each name that is not unlinked before its turn must come exactly once."""
    before = listing(folder)
    seen, unlinked = [], set()
    with os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            seen.append(entry.name)
            if number % 2 == 0:
                os.unlink(f"{folder}/{entry.name}")
                unlinked.add(entry.name)
    if len(set(seen)) != len(seen):
        sys.exit(f"a name was listed twice while others were unlinked, {len(seen)} in all")
    expect("listed while unlinking", set(seen), before)
    expect("left after unlinking", listing(folder), before - unlinked)
    for name in before - unlinked:
        os.unlink(f"{folder}/{name}")
    expect("at the end", listing(folder), set())


def special_names():
    names = {"-", "...", " ", "a\nb", "\xff".encode("latin-1").decode("utf-8", "surrogateescape"),
             "n" * 255, "ünï", "\u00fc", "u\u0308", "CON", "a" * 4 + "\\"}
    os.mkdir("special")
    create("special", names)
    expect("odd names", listing("special"), names)
    try:
        create("special", ["n" * 256])
        sys.exit("a name of 256 bytes was accepted")
    except OSError as error:
        if error.errno != 36:  # ENAMETOOLONG
            raise
    for name in names:
        os.unlink(f"special/{name}")
    os.rmdir("special")


if __name__ == "__main__":
    storm(int(sys.argv[1]))
    special_names()
    print("all as expected")
