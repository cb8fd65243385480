#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seeds.py - write the first inputs of the fuzz targets into corpus/TARGET/.

What fuzzing finds later is added by hand under a name that says what it was.
"""

import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


def u32(*values):
    return b"".join(struct.pack(">I", value & 0xFFFFFFFF) for value in values)


def u64(value):
    return struct.pack(">Q", value)


def opaque(data):
    return u32(len(data)) + data + bytes(-len(data) % 4)


def fragment(data, last=True):
    return u32(len(data) | (0x80000000 if last else 0)) + data


def write(target, seeds):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


HANDLE = opaque(b"a handle of 24 bytes, ok")
DIROP = HANDLE + opaque(b"name.vmdk")
SATTR_NONE = u32(0, 0, 0, 0, 0, 0)
SATTR_ALL = (
    u32(1, 0o644, 1, 10, 1, 20, 1) + u64(1 << 40) + u32(2, 1700000000, 5) + u32(2, 1700000001, 6)
)


def records():
    cut = bytes([0])  # one byte at a time
    whole = bytes([15])
    large = bytes([5])
    one_byte = b"".join(fragment(b"x", False) for _ in range(40))
    return {
        "one": whole + large + fragment(b"hello"),
        "three": cut + large + fragment(b"a") + fragment(b"") + fragment(b"bcd"),
        "fragments": cut + large + fragment(b"hello ", False) + fragment(b"world"),
        "empty_fragments": whole + large + fragment(b"", False) * 3 + fragment(b"x"),
        "one_byte_fragments": bytes([3]) + large + one_byte + fragment(b"y"),
        "over_limit": whole + bytes([2]) + fragment(b"1234", False) + fragment(b"56"),
        "largest_mark": whole + large + u32(0xFFFFFFFF) + b"data",
        "cut_mark": cut + large + fragment(b"abc", False) + b"\x80\x00",
        "nothing_allowed": whole + bytes([0]) + fragment(b"") + fragment(b"a"),
    }


def call(cred, verf=u32(0, 0), args=b"", version=2, kind=0):
    return u32(0x01020304, kind, version, 100003, 3, 1) + cred + verf + args


def auth_sys(name=b"esx1", groups=(0, 5), extra=b""):
    body = u32(1) + opaque(name) + u32(0, 0, len(groups), *groups) + extra
    return u32(1) + opaque(body)


def rpc_calls():
    none = u32(0, 0)
    return {
        "auth_none": call(none),
        "auth_sys": call(auth_sys(), args=HANDLE),
        "auth_sys_16_groups": call(auth_sys(groups=tuple(range(16)))),
        "auth_sys_17_groups": call(auth_sys(groups=tuple(range(17)))),
        "auth_sys_long_name": call(auth_sys(name=b"n" * 256)),
        "auth_sys_extra": call(auth_sys(extra=u32(0))),
        "auth_short": call(u32(2) + opaque(b"shorthnd")),
        "auth_gss": call(u32(6) + opaque(u32(1, 1, 0, 1, 0))),
        "auth_tls": call(u32(7, 0)),
        "long_cred": call(u32(1, 401)),
        "long_verf": call(none, u32(0, 0xFFFFFFFF)),
        "gss_verf": call(auth_sys(), u32(6) + opaque(b"mic!")),
        "rpc_version_3": call(none, version=3),
        "reply": call(none, kind=1),
        "cut": call(auth_sys())[:60],
        "short": u32(1),
    }


def nfs3_args():
    seeds = {
        "null": (0, u32(7)),
        "getattr": (1, HANDLE),
        "setattr_guard": (2, HANDLE + SATTR_ALL + u32(1, 7, 8)),
        "setattr_none": (2, HANDLE + SATTR_NONE + u32(0)),
        "setattr_bool_2": (2, HANDLE + u32(2, 0o644) + SATTR_NONE[4:] + u32(0)),
        "lookup": (3, DIROP),
        "access": (4, HANDLE + u32(0x3F)),
        "readlink": (5, HANDLE),
        "read": (6, HANDLE + u64(1 << 63) + u32(65536)),
        "write": (7, HANDLE + u64(0) + u32(5, 2) + opaque(b"12345")),
        "write_stable_3": (7, HANDLE + u64(0) + u32(5, 3) + opaque(b"12345")),
        "create_unchecked": (8, DIROP + u32(0) + SATTR_ALL),
        "create_guarded": (8, DIROP + u32(1) + SATTR_NONE),
        "create_exclusive": (8, DIROP + u32(2) + b"verifier"),
        "create_3": (8, DIROP + u32(3) + b"verifier"),
        "mkdir": (9, DIROP + SATTR_ALL),
        "symlink": (10, DIROP + SATTR_NONE + opaque(b"../target")),
        "mknod_chr": (11, DIROP + u32(4) + SATTR_ALL + u32(5, 6)),
        "mknod_fifo": (11, DIROP + u32(7) + SATTR_NONE),
        "mknod_reg": (11, DIROP + u32(1)),
        "mknod_8": (11, DIROP + u32(8)),
        "remove": (12, DIROP),
        "rmdir": (13, DIROP),
        "rename": (14, DIROP + DIROP),
        "link": (15, HANDLE + DIROP),
        "readdir": (16, HANDLE + u64(3) + bytes(8) + u32(4096)),
        "readdirplus": (17, HANDLE + u64(3) + bytes(8) + u32(4096, 65536)),
        "fsstat": (18, HANDLE),
        "fsinfo": (19, HANDLE),
        "pathconf": (20, HANDLE),
        "commit": (21, HANDLE + u64(0) + u32(0)),
        "long_handle": (1, opaque(bytes(65))),
        "wrapping_handle": (1, u32(0xFFFFFFFD) + bytes(8)),
    }
    return {name: bytes([procedure]) + args for name, (procedure, args) in seeds.items()}


def mount_portmap_args():
    rpcb = u32(100003, 3) + opaque(b"tcp") + opaque(b"192.0.2.1.8.1") + opaque(b"superuser")
    return {
        "dirpath": bytes([0]) + opaque(b"/export/datastore"),
        "dirpath_nul": bytes([0]) + opaque(b"/a\0b"),
        "dirpath_longest": bytes([0]) + opaque(b"/" * 1024),
        "dirpath_too_long": bytes([0]) + opaque(b"/" * 1025),
        "portmap": bytes([1]) + u32(100005, 3, 6, 0),
        "rpcbind": bytes([2]) + rpcb,
        "rpcbind_cut": bytes([2]) + rpcb[:40],
        "string": bytes([3]) + opaque(b"192.0.2.1.8.1"),
    }


def vaai_o(number, name=b"", source=None, version=1, name_bytes=None, cut=None):
    """Dialect O of procedure 22: the command is little-endian."""
    field = name + bytes(1) if name else b""
    said = len(field) if name_bytes is None else name_bytes
    command = struct.pack("<QIIII256sQQ", version, number, 0, 0, said, field, 0, 0)[:cut]
    union = u32(1) if source is None else u32(0) + source
    return HANDLE + union + opaque(command)


def vaai():
    magic = 0x8068269529234103
    longest = opaque(b"n" * 255)
    seeds = {"o_%d" % number: vaai_o(number) for number in range(2, 10)}
    seeds.update({
        "o_clone": vaai_o(1, b"vm/disk.vmdk", HANDLE),
        "o_clone_dots": vaai_o(1, b"vm/../disk.vmdk", HANDLE),
        "o_clone_without_source": vaai_o(1, b"disk"),
        "o_longest_name": vaai_o(1, b"n" * 255, HANDLE),
        "o_unterminated": vaai_o(1, b"name", HANDLE, name_bytes=4),
        "o_name_too_long": vaai_o(1, b"name", HANDLE, name_bytes=257),
        "o_version_2": vaai_o(1, b"name", HANDLE, version=2),
        "o_short_command": vaai_o(3, cut=295),
        "q_register": u32(0) + u64(magic),
        "q_register_wrong": u32(0) + u64(magic + 1),
        "q_reserve": u32(1) + HANDLE + u64(1 << 40),
        "q_stat": u32(2) + HANDLE,
        "q_clone": u32(3) + HANDLE + HANDLE + u32(0x10),
        "q_fast_clone": u32(3) + HANDLE + HANDLE + u32(3) + opaque(b"to") + opaque(b"from"),
        "q_fast_clone_longest": u32(3) + HANDLE + HANDLE + u32(3) + longest + longest,
        "q_fast_clone_slash": u32(3) + HANDLE + HANDLE + u32(3) + opaque(b"a/b") + longest,
        "q_inquiry": u32(4) + HANDLE,
        "q_abort": u32(5) + HANDLE,
        "neither": u32(6) + HANDLE,
    })
    return seeds


def handles():
    kernel = bytes(range(20))
    head = bytes([1, 0x81, 0, 0]) + u32(7) + u64(0x1122334455667788)
    return {
        "wire": bytes([0]) + head + kernel + bytes(8),
        "wire_shortest": bytes([0]) + head + kernel[:4] + bytes(8),
        "wire_longest": bytes([0]) + head + bytes(32) + bytes(8),
        "wire_too_long": bytes([0]) + head + bytes(33) + bytes(8),
        "wire_cut": bytes([0]) + head,
        "wire_other_version": bytes([0, 2]) + head[1:] + kernel + bytes(8),
        "parts": bytes([1]) + u32(7) + u64(9) + bytes([0x81, 30, 1, 0]) + kernel,
        "parts_longest": bytes([1]) + u32(7) + u64(9) + bytes([0x81, 55, 0x80, 0]) + bytes(32),
        "parts_too_long": bytes([1]) + u32(7) + u64(9) + bytes([0x81, 0, 1, 0]) + bytes(33),
    }


def fake(node):
    """A handle of tests/support/vfs_fake.c, as it is at first."""
    return opaque(b"FAKE" + bytes([node, node + 1, 0, 0]))


def message(procedure, args, kind=0):
    """One message of a FRAMED input; see fuzz_stream.c."""
    return bytes([kind, procedure, len(args)]) + args


ROOT, OTHER, FILE, DIR, LINK = (fake(node) for node in range(5))
NAME = opaque(b"name")


def stream_calls():
    """(procedure, arguments) of calls that get somewhere."""
    return {
        "null": [(0, b"")],
        "getattr": [(1, node) for node in (ROOT, OTHER, FILE, DIR, LINK, fake(9))],
        "setattr": [(2, FILE + SATTR_ALL + u32(0)), (2, DIR + SATTR_NONE + u32(1, 1003, 0))],
        "lookup": [(3, ROOT + opaque(name)) for name in (b"file", b"dir", b"..", b"none", b"")],
        "access": [(4, ROOT + u32(63)), (4, FILE + u32(63))],
        "readlink": [(5, LINK), (5, FILE)],
        "read": [
            (6, FILE + u64(at) + u32(n)) for at, n in ((0, 4096), (4990, 99), (9, 0), (0, -1))
        ],
        "write": [(7, FILE + u64(0) + u32(5, how) + opaque(b"12345")) for how in (0, 1, 2)]
        + [(21, FILE + u64(0) + u32(0))],
        "create": [(8, ROOT + NAME + u32(0) + SATTR_ALL), (8, ROOT + NAME + u32(1) + SATTR_NONE)],
        "exclusive": [(8, ROOT + NAME + u32(2) + b"verifier")] * 2,
        "mkdir": [(9, ROOT + NAME + SATTR_ALL), (13, ROOT + NAME)],
        "symlink": [(10, ROOT + NAME + SATTR_NONE + opaque(b"../target"))],
        "mknod": [(11, ROOT + NAME + u32(4) + SATTR_NONE + u32(5, 6)), (11, ROOT + NAME + u32(1))],
        "remove": [(12, ROOT + opaque(b"file")), (1, FILE), (12, ROOT + opaque(b"dir"))],
        "rename": [(14, ROOT + opaque(b"file") + DIR + NAME), (14, ROOT + NAME + OTHER + NAME)],
        "link": [(15, FILE + DIR + NAME), (15, FILE + OTHER + NAME)],
        "readdir": [(16, ROOT + u64(0) + bytes(8) + u32(n)) for n in (4096, 128, 0, -1)],
        "readdirplus": [(17, ROOT + u64(0) + bytes(8) + u32(n, 9 * n)) for n in (4096, 99, 1)],
        "fs": [(18, ROOT), (19, FILE), (20, DIR)],
        "vaai": [(22, u32(0) + u64(0x8068269529234103)), (22, u32(4) + FILE), (22, u32(6))],
        "mount": [(1, opaque(b"/a")), (1, opaque(b"/c")), (5, b""), (2, b""), (3, opaque(b"/a"))],
    }


def streams():
    framed, twice, bad_disk, bad_files, scarce, tiny = 1, 2, 8, 16, 32, 128
    seeds = {}
    everything = b""
    for name, calls in stream_calls().items():
        kind = 3 << 2 if name == "mount" else 0
        all_of_it = b"".join(message(procedure, args, kind) for procedure, args in calls)
        everything += all_of_it
        seeds[name] = bytes([framed, 1]) + all_of_it
        seeds[name + "_twice"] = bytes([framed | twice, 2]) + all_of_it
        seeds[name + "_user"] = bytes([framed, 3]) + b"".join(
            message(procedure | 3 << 5, args, kind) for procedure, args in calls
        )
    for flag in (twice, bad_disk, bad_files, scarce, tiny, twice | bad_disk | bad_files | 4):
        seeds["everything_%d" % flag] = bytes([framed | flag, 4]) + everything
    header = u32(9, 0, 2, 100003, 3, 7, 1, 20, 0, 0, 0, 0, 0, 0, 0)
    data = bytes(64 << 10)
    large = fragment(header + FILE + u64(0) + u32(len(data), 2) + opaque(data))
    seeds["raw_large_write"] = bytes([0, 5]) + large
    seeds["raw_large_writes_scarce"] = bytes([scarce | twice, 6]) + large + large
    null = u32(3, 0, 2, 100003, 3, 0, 0, 0, 0, 0)
    seeds["raw_null"] = bytes([tiny, 7]) + fragment(null) * 5
    seeds["raw_fragments"] = bytes([0, 8]) + b"".join(
        fragment(null[i : i + 4], i == 36) for i in range(0, 40, 4)
    )
    seeds["raw_over_limit"] = bytes([0, 9]) + fragment(null) + u32(0xFFFFFFFF) + b"data"
    seeds["raw_garbage"] = bytes([0, 10]) + b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
    seeds["raw_cut"] = bytes([0, 11]) + fragment(null)[:20]
    return seeds


def group_commits():
    """Steps of fuzz_group_commit.c."""

    def writes(*whom):
        return bytes(who << 3 for who in whom)

    turn, posted, flushed, failed, again = ([s, s | 8] for s in (2, 3, 4, 5, 6))
    turns, answers = bytes(turn), bytes(posted)
    good, bad = bytes(flushed[:1]), bytes(failed[:1])
    return {
        "one": writes(0) + turns + good,
        "shared": writes(0, 2, 1, 31) + turns + good + answers,
        "late": writes(0) + turns + writes(1, 2) + good + turns + writes(3) + good + answers,
        "failed": writes(0, 1) + turns + writes(2, 3) + bad + answers + turns + good + answers,
        "failed_twice": writes(4) + turns + writes(5) + bad + turns + bad + answers,
        "again": bytes(again[1:]) + writes(0, 1, 2) + (turns + good + answers) * 3 + turns + bad,
        "other_loop": writes(1) + turns[1:] + writes(0) + good + turns[:1] + turns[1:] + good,
    }


def reply_caches():
    """Steps of fuzz_reply_cache.c, two bytes each, after the sizes of the two classes."""

    def step(kind, *whom, detail=1):
        return b"".join(bytes([who << 3 | kind, detail]) for who in whom)

    begin, older, finish, forget, later = range(5)
    return {
        "once": b"\x33" + step(begin, 0) + step(finish, 0, detail=9) + step(begin, 0, 0),
        "running": b"\x33" + step(begin, 1, 1) + step(older, 1) + step(finish, 1) + step(begin, 1),
        "no_two_alike": b"\x88" + step(begin, *range(16)) + step(finish, *range(16), detail=16)
        + step(begin, *range(16)),
        "oldest_goes": b"\x22" + b"".join(step(begin, i) + step(finish, i) for i in (0, 2, 4, 6))
        + step(begin, 6, 4, 0),
        "all_running": b"\x12" + step(begin, 0, 2, 4, 1, 3) + step(finish, 0, 1, detail=3)
        + step(begin, 4, 3),
        "old": b"\x44" + step(begin, 0, 2, 4) + step(finish, 0, 2, 4) + step(later, 0, detail=41)
        + step(begin, 2, 6),
        "jukebox": b"\x11" + step(begin, 0) + step(forget, 0) + step(begin, 0) + step(finish, 0),
        "too_long": b"\x11" + step(begin, 1) + step(finish, 1, detail=17) + step(begin, 1),
        "no_room": b"\x00" + step(begin, 0, 1),
    }


def main():
    write("group_commit", group_commits())
    write("handle", handles())
    write("reply_cache", reply_caches())
    write("stream", streams())
    write("record", records())
    write("rpc_call", rpc_calls())
    write("nfs3_args", nfs3_args())
    write("mount_portmap_args", mount_portmap_args())
    write("vaai", vaai())


if __name__ == "__main__":
    main()
