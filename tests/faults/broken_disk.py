#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""broken_disk.py NFSD PORT DIR OTHER - file systems (images in DIR) that are given up while they
are served: ext4 that turns read-only at an error, XFS that is shut down, one that is unmounted.
What is asked of them is refused with the reason and nothing is promised that is not kept; other
exports (OTHER) go on; and all that had been answered is there, by the old handles, when they are
mounted again."""
import fcntl
import os
import struct
import subprocess
import sys

from faults import Server, check, nfs3

GOING_DOWN, NO_LOG_FLUSH = 0x8004587D, 2  # XFS_IOC_GOINGDOWN
KINDS = {"ext4": ("mkfs.ext4", "-q", "-F"), "xfs": ("mkfs.xfs", "-q")}
OPTIONS = {"ext4": "loop,errors=remount-ro", "xfs": "loop"}
NAMES = ("ext4", "xfs", "gone")
KEPT = b"kept" * 1024


def path_of(top, name):
    return os.path.join(top, "broken-" + name)


def mount(top, name):
    kind = KINDS.get(name) and name or "xfs"
    image, path = path_of(top, name) + ".img", path_of(top, name)
    if not os.path.exists(image):
        with open(image, "wb") as file:
            file.truncate(320 << 20)
        subprocess.run([*KINDS[kind], image], check=True)
        os.mkdir(path)
    subprocess.run(["mount", "-o", OPTIONS[kind], image, path], check=True)
    return path


def give_up_ext4(path):
    device = subprocess.run(["findmnt", "-no", "SOURCE", path], check=True, capture_output=True,
                            text=True).stdout.strip()
    with open("/sys/fs/ext4/%s/trigger_fs_error" % os.path.basename(device), "w",
              encoding="ascii") as trigger:
        trigger.write("broken_disk.py\n")


def give_up_xfs(path):
    top = os.open(path, os.O_RDONLY)
    fcntl.ioctl(top, GOING_DOWN, struct.pack("I", NO_LOG_FLUSH))
    os.close(top)


def one_of(reply, *allowed):
    check(reply.status in allowed, "%s is refused with %s" % (reply.call.split("(")[0],
                                                              nfs3.status_name(reply.status)),
          "allowed: %s" % ", ".join(map(nfs3.status_name, allowed)))


def refused(nfs, root, file, verifier, *allowed):
    """What changes something; and the write that was promised to nobody is not promised now."""
    one_of(nfs.write(file, 0, bytes(4096), nfs3.FILE_SYNC), *allowed)
    one_of(nfs.create(root, b"new"), *allowed)
    one_of(nfs.setattr(file, size=1), *allowed)
    reply = nfs.commit(file)
    if reply.status == nfs3.NFS3_OK:
        check(reply.verf != verifier, "COMMIT tells that what was not flushed may be lost")
    else:
        one_of(reply, *allowed)


def main():
    program, port, top, other = sys.argv[1], int(sys.argv[2]), *sys.argv[3:5]
    paths = [mount(top, name) for name in NAMES] + [os.path.join(other, "beside")]
    os.makedirs(paths[-1])
    lines = ["%s *(rw,no_root_squash)" % path for path in paths]
    server = Server(program, port, lines).start()
    ext4, xfs, gone, beside = roots = [server.mount(path).ok().fh for path in paths]
    nfs = server.nfs()
    files = [nfs.new_file(root, b"file", KEPT) for root in roots]
    verifiers = [nfs.write(file, 8192, b"later", nfs3.UNSTABLE).ok().verf for file in files]

    give_up_ext4(paths[0])
    refused(nfs, ext4, files[0], verifiers[0], nfs3.NFS3ERR_ROFS, nfs3.NFS3ERR_IO)
    check(nfs.read(files[0], 0, 4096).ok().data == KEPT, "ext4 that is read-only is read")
    nfs.getattr(ext4).ok()
    nfs.fsstat(ext4).ok()

    give_up_xfs(paths[1])
    refused(nfs, xfs, files[1], verifiers[1], nfs3.NFS3ERR_IO)

    subprocess.run(["umount", "--lazy", paths[2]], check=True)
    nfs.write(files[2], 0, KEPT, nfs3.FILE_SYNC).ok()
    check(True, "one that is unmounted lazily is served until the exports are read again")
    lines[2] += " # read again"
    server.reload(lines, "exports")
    one_of(nfs.write(files[2], 0, KEPT, nfs3.FILE_SYNC), nfs3.NFS3ERR_STALE)
    one_of(nfs.create(gone, b"new"), nfs3.NFS3ERR_STALE)
    check(os.listdir(paths[2]) == [], "nothing is written to the directory below")

    nfs.write(files[3], 0, KEPT, nfs3.FILE_SYNC).ok()
    nfs.new_file(beside, b"new", KEPT)
    check(True, "another export goes on")
    check(server.stop()[1] == 0, "it ends well")
    for path in paths[:2]:
        subprocess.run(["umount", path], check=True)
    for name in NAMES:
        mount(top, name)
    server.start()
    nfs = server.nfs()
    for file in files:
        check(nfs.read(file, 0, 4096).ok().data == KEPT, "what was promised is there again")
    check(server.stop()[1] == 0, "it ends well")
    for path in paths[:3]:
        subprocess.run(["umount", path], check=True)


main()
