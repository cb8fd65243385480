# SPDX-License-Identifier: Apache-2.0
"""guest_lock.py FILE COMMAND... - take and leave record locks, one command after the other.

    lock|wait|shared FIRST COUNT    not waiting; waiting; not waiting, shared
    unlock FIRST COUNT
    say PATH                        make a file
    hear PATH                       wait until it is there

What is done is printed: "ok", or "busy" for a lock that somebody else has."""
import fcntl
import os
import sys
import time


def lock(file, how, first, count):
    try:
        fcntl.lockf(file, how, count, first)
        return "ok"
    except BlockingIOError:
        return "busy"


def run(file, words):
    ways = {"lock": fcntl.LOCK_EX | fcntl.LOCK_NB, "wait": fcntl.LOCK_EX,
            "shared": fcntl.LOCK_SH | fcntl.LOCK_NB, "unlock": fcntl.LOCK_UN}
    while words:
        command = words.pop(0)
        if command in ways:
            print(command, lock(file, ways[command], int(words.pop(0)), int(words.pop(0))),
                  flush=True)
        elif command == "say":
            with open(words.pop(0), "w", encoding="ascii"):
                pass
        elif command == "hear":
            path = words.pop(0)
            while not os.path.exists(path):
                time.sleep(0.02)
        else:
            sys.exit(f"guest_lock.py knows no {command}")


if __name__ == "__main__":
    with open(sys.argv[1], "r+b", buffering=0) as opened:
        run(opened, sys.argv[2:])
