#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""refused.py NFSD PORT DIR - a start that is refused says why and leaves nothing behind: neither
the state directory nor the key of the file handles. The sidecar is of NFSD's build folder."""
import os
import subprocess
import sys

from faults import check


def main():
    nfsd, top = sys.argv[1], sys.argv[3]
    sidecar = os.path.join(os.path.dirname(nfsd), "..", "offload", "lodestore-offloadd")
    bad = os.path.join(top, "bad-exports")
    with open(bad, "w", encoding="ascii") as file:
        file.write("/srv *(no_such_option)\n")
    for program in (nfsd, sidecar):
        name = os.path.basename(program)
        for exports in (os.path.join(top, "no-exports"), bad):
            state = os.path.join(top, "refused-state")
            done = subprocess.run([program, "--foreground", "--exports", exports, "--state-dir",
                                   state], stderr=subprocess.PIPE, timeout=30, check=False)
            check(done.returncode == 1 and exports.encode() in done.stderr,
                  "%s refuses %s, and says so" % (name, os.path.basename(exports)))
            check(not os.path.exists(state), "and has made nothing")


if __name__ == "__main__":
    main()
