#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""user_namespace.py NFSD PORT DIR - in a user namespace that maps only some ids the server could
not act as its clients: it says so at the start, instead of ending at the first call of another."""
import sys

from faults import Server, check

ONLY_ROOT = ["unshare", "--user", "--map-root-user"]
LACKED = "all user ids"


def main():
    program, port, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    server = Server(program, port, ["%s *(rw)" % folder], ONLY_ROOT)
    server.spawn()
    status = server.process.wait(30)
    check(status == 1, "with one id mapped it does not start", str(status))
    check(LACKED in server.log_text(), "and says what it lacks", server.log_text())


main()
