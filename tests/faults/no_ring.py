#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""no_ring.py NFSD PORT DIR - a kernel or container without io_uring is told at the start, with the
line that mends it: io_uring_setup(2) refused by a seccomp filter, as containers do."""
import ctypes
import os
import platform
import struct
import sys

from faults import Server, check

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x00050000, 0x7fff0000
BPF_LOAD_NUMBER, BPF_JUMP_EQUAL, BPF_RETURN = 0x20, 0x15, 0x06
IO_URING_SETUP = 425


def instruction(code, jump_true, jump_false, value):
    return struct.pack("HBBI", code, jump_true, jump_false, value)


def refuse_and_run(error, command):
    """In the child: io_uring_setup(2) fails with @error from now on."""
    program = (instruction(BPF_LOAD_NUMBER, 0, 0, 0)
               + instruction(BPF_JUMP_EQUAL, 0, 1, IO_URING_SETUP)
               + instruction(BPF_RETURN, 0, 0, SECCOMP_RET_ERRNO | error)
               + instruction(BPF_RETURN, 0, 0, SECCOMP_RET_ALLOW))
    buffer = ctypes.create_string_buffer(program)
    libc = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) != 0:
        sys.exit("prctl: %s" % os.strerror(ctypes.get_errno()))
    os.execv(command[0], command)


def main():
    if sys.argv[1] == "--refuse":
        refuse_and_run(int(sys.argv[2]), sys.argv[3:])
    program, port, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    assert platform.machine() in ("x86_64", "aarch64")
    for error, words in ((1, "kernel.io_uring_disabled"), (38, "Linux 5.19")):
        server = Server(program, port, ["%s *(rw)" % folder],
                        [sys.executable, os.path.abspath(__file__), "--refuse", str(error)])
        server.spawn()
        status = server.process.wait(30)
        check(status == 1, "io_uring_setup(2) failing with %s ends the start" % os.strerror(error),
              str(status))
        check(words in server.log_text(), "and the message says what mends it", server.log_text())


main()
