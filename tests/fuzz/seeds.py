#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seeds.py - write the first inputs of the fuzz targets into corpus/TARGET/.

What fuzzing finds later is added by hand under a name that says what it was.
"""

import pathlib
import struct

VFS_CRED_BYTES = 140  # sizeof(struct vfs_cred)
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


def nlm4_args():
    """The procedure, its arguments; NSM's procedures from 32 on."""
    cookie = opaque(b"cook")
    lock = opaque(b"client") + HANDLE + opaque(b"3@client") + u32(3) + u64(10) + u64(0)
    share = cookie + opaque(b"client") + HANDLE + opaque(b"owner") + u32(1, 3, 0)
    my_id = opaque(b"here") + u32(100021, 4, 16)
    return {
        "null": bytes([0]),
        "test": bytes([1]) + cookie + u32(1) + lock,
        "lock": bytes([2]) + cookie + u32(1, 1) + lock + u32(0, 5),
        "lock_no_bool": bytes([2]) + cookie + u32(2, 1) + lock + u32(0, 5),
        "lock_cut": bytes([2]) + cookie + u32(1, 1) + lock,
        "cancel": bytes([3]) + cookie + u32(1, 1) + lock,
        "unlock": bytes([4]) + cookie + lock,
        "granted": bytes([5]) + cookie + u32(1) + lock,
        "test_res": bytes([11]) + cookie + u32(1, 1, 7) + opaque(b"other") + u64(1) + u64(2),
        "granted_res": bytes([15]) + cookie + u32(0),
        "sm_notify": bytes([16]) + opaque(b"client") + u32(5) + bytes(16),
        "share": bytes([20]) + share,
        "share_no_mode": bytes([20]) + share[:-12] + u32(4, 3, 0),
        "free_all": bytes([23]) + opaque(b"client") + u32(7),
        "nobody": bytes([18]) + cookie,
        "nsm_stat": bytes([33]) + opaque(b"client"),
        "nsm_mon": bytes([34]) + opaque(b"client") + my_id + bytes(16),
        "nsm_unmon_all": bytes([36]) + my_id,
        "nsm_notify": bytes([38]) + opaque(b"client") + u32(9),
        "nsm_long_name": bytes([38]) + opaque(b"x" * 1025) + u32(9),
    }


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


def job_record(**changed):
    """A record of the sidecar's journal, without its last line; see offload/job_text.c."""
    handle = bytes(range(40)).hex()
    fields = {
        "id": 1764530034269000, "kind": 1, "state": 1, "status": 0, "phase": 1, "flags": 8,
        "source.handle": handle, "source.dir": handle, "source.name": "a%20b.vmdk",
        "source.shown": "/srv/ds1/a%20b.vmdk", "source.ctime_ns": 1 << 60,
        "destination.handle": handle, "destination.dir": "", "destination.name": "",
        "destination.shown": "handle:00", "destination.ctime_ns": 0,
        "host": "00" * 10 + "ffffc0000201", "cred": "00" * VFS_CRED_BYTES,
        "bytes_total": 1 << 40, "bytes_done": 4096, "bytes_moved": 4096, "reserve_bytes": 0,
        "durable_bytes": 4096, "former_bytes": 1 << 40, "thick": 1, "cancel": 0,
        "engine": "copy", "text": "", "created_ms": 1764530034269, "started_ms": 1764530034270,
        "finished_ms": 0, "has_checksum": 0, "checksum": "00" * 16,
    }
    fields.update(changed)
    lines = "".join("%s %s\n" % field for field in fields.items())
    return b"lodestore-job 1\n" + lines.encode()


def jobs():
    whole = job_record()
    return {
        "running": b"\x01" + whole,
        "ended": b"\x81" + job_record(state=2, phase=4, finished_ms=1764530034999, text="done"),
        "placing": b"\x41" + job_record(phase=2, thick=0, former_bytes=0),
        "id_0": b"\x01" + job_record(id=0),
        "phase_5": b"\x01" + job_record(phase=5),
        "kind_5": b"\x01" + job_record(kind=5),
        "largest": b"\x01" + job_record(bytes_total=(1 << 64) - 1),
        "too_large": b"\x01" + job_record(bytes_total=1 << 64),
        "bool_2": b"\x01" + job_record(thick=2),
        "long_handle": b"\x01" + job_record(**{"source.handle": "00" * 57}),
        "name_nul": b"\x01" + job_record(**{"source.name": "a%00b"}),
        "name_cut": b"\x01" + job_record(**{"source.name": "a%2"}),
        "name_longest": b"\x01" + job_record(**{"source.name": "n" * 255}),
        "name_too_long": b"\x01" + job_record(**{"source.name": "n" * 256}),
        "no_sum": b"\x00" + whole,
        "cut": b"\x01" + whole[:-20],
        "version_2": b"\x01" + whole.replace(b"job 1", b"job 2"),
    }


def offload_job(text=b"", source=b"/a", state=2):
    return (
        u64(7) + u32(1, state, 0, 8) + opaque(b"reflink") + u64(4096) * 4
        + u64(1764530034269) * 3 + u32(1) + bytes(16) + opaque(text) + opaque(source)
        + opaque(b"/b")
    )


def offload_args():
    by_handle, path = u32(0) + HANDLE, u32(1) + opaque(b"/srv/ds1/vm/a.vmdk")
    below = u32(2) + HANDLE + opaque(b"vm/a.vmdk")
    envelope = bytes(10) + b"\xff\xff\xc0\0\2\1" + u32(900, 0, 0, 2, 4, 5)
    seeds = {
        "file_handle": (0, by_handle), "file_path": (0, path), "file_below": (0, below),
        "file_3": (0, u32(3)), "path_longest": (0, u32(1) + opaque(b"/" * 1024)),
        "path_too_long": (0, u32(1) + opaque(b"/" * 1025)),
        "clone": (1, path + below + u32(8, 20)), "reserve": (2, path + u64(1 << 40) + u32(0)),
        "checksum": (3, path + u32(1)), "punch": (4, below + u32(1, 0)),
        "which_id": (5, u32(0) + u64(7)), "which_file": (5, u32(1) + path),
        "wait": (6, u32(1) + by_handle + u32(20)), "jobs": (7, u64(0) + u32(32)),
        "vaai": (8, opaque(bytes(1024))), "vaai_too_long": (8, opaque(bytes(1025))),
        "envelope": (9, envelope), "envelope_33_groups": (9, envelope[:28] + u32(33)),
        "job": (10, u32(0) + offload_job()), "job_refused": (10, u32(2) + opaque(b"why\x1b[2J")),
        "job_odd_text": (10, u32(0) + offload_job(b"\x1b[2J\xff\xc2\x85", b"a\nb\x7f", 1)),
        "job_state_9": (10, u32(0) + offload_job(state=9)),
        "support": (11, u32(0, 31) + opaque(b"xfs") + opaque(b"0.1\x1b]0;x\x07")),
        "stat": (12, u32(0) + u64(1 << 40) + u64(4096) * 3 + u32(1)),
        "jobs_3": (13, u32(0, 3) + offload_job() * 3 + u32(1)),
        "jobs_33": (13, u32(0, 33) + offload_job() * 33 + u32(1)),
        "jobs_many": (13, u32(0, 0xFFFFFFFF)),
    }
    return {name: bytes([kind]) + args for name, (kind, args) in seeds.items()}


def scenarios():
    head = b"server nas\ndatastore /srv/ds1\ndialect O\n"
    whole = head + (
        b"from 192.0.2.7\nhosts 2 at-once 4\npoll 250ms\ntries 3\npatience 5s\nsupport\n"
        b"clone tmpl/t-flat.vmdk to vm%n/vm%n-flat.vmdk count 20 thick abort after 2s\n"
        b"clone tmpl/t.vmdk to x fast  # quick\nreserve vm%n/a count 2\nstat \"my vm/a b\"\n"
    )
    return {
        "whole": whole, "crlf": whole.replace(b"\n", b"\r\n"), "empty": b"",
        "nothing_to_do": head, "twice": head + head + b"support\n",
        "no_number": head + b"stat a count 2\n", "open_quote": head + b"stat \"a b\n",
        "long_path": head + b"stat " + b"%n" * 130 + b" count 10000\n",
        "many_words": head + b"stat" + b" a" * 20 + b"\n", "near": head + b"clon a to b\n",
        "many_steps": head + b"support\n" * 257,
    }


def documents():
    """Of the status socket, one or two with NUL between; and places."""
    row = (
        b'{"path":"/srv/a","address":"192.0.2.1","calls":%d,"read_bytes":5,"written_bytes":6,'
        b'"errors":0,"latency_us":70,"latency":[0,1,%d]}'
    )
    document = (
        b'{"program":"lodestore-nfsd","version":"0.1","port":2049,"started_ms":1,"uptime_ms":%d,'
        b'"connections":{"open":3,"limit":4},"buffers":{"used_bytes":1,"limit_bytes":2},'
        b'"refusals":{"host":1},"flushes":{"count":2,"calls":9},"exports":[%s],"clients":[%s]}'
    )
    one, two = document % (10, row % (1, 1), row % (1, 1)), document % (
        1500, row % (9, 8), row % (7, 7))
    return {
        "one": one, "two": one + b"\0" + two, "restarted": two + b"\0" + one,
        "escapes": b'{"program":"\\u001b[2J\\n\\udcff\\ud83d\\ude00","version":"\x1b"}',
        "odd_kinds": b'{"program":1,"exports":{"a":"b"},"clients":[[],null],"refusals":[1,true]}',
        "odd_keys": b'{"refusals":{"\\u001b[2J":1},"connections":[]}',
        "deep": b"[" * 16 + b"]" * 16, "too_deep": b"[" * 17 + b"]" * 17,
        "largest": b"[18446744073709551615]", "too_large": b"[18446744073709551616]",
        "cut_escape": b'["\\', "place_v6": b"[2001:db8::1]:/srv/a", "place_job": b"nas:17645",
        "place_server": b"nas:", "place_here": b"vm/a.vmdk", "place_climbs": b"nas:/a/../b",
        "place_longest": b"h" * 255 + b":/" + b"p" * 1023,
    }


def plugin_wires():
    handle = bytes([23]) + bytes(range(24))
    o_reply = u32(0) + opaque(struct.pack("<QIIQQQQQQ", 1, 3, 0, 1, 2, 3, 0, 2, 9) + bytes(8))
    result = bytes([0, 7]) + u64(1) + u64(2) + u64(3) + u64(4) + b"\2"
    seeds = {"o_%d" % n: b"\0" + handle * 2 + bytes([n - 1, 3]) + b"a/b" + result
             for n in range(1, 9)}
    seeds["o_long_path"] = b"\0" + handle * 2 + bytes([0, 255, 1]) + b"p" * 256 + result
    for op in range(6):
        seeds["q_%d" % op] = (b"\1" + handle * 2 + bytes([op, 1]) + u64(1 << 40)
                              + b"\1\4name\4from" + result)
    seeds["reply_o"] = b"\2" + o_reply
    seeds["reply_q"] = b"\2" + u32(0, 2) + u64(1) * 3
    seeds["reply_error"] = b"\2" + u32(28)
    return seeds


def main():
    write("group_commit", group_commits())
    write("job", jobs())
    write("json", documents())
    write("offload_args", offload_args())
    write("plugin_wire", plugin_wires())
    write("scenario", scenarios())
    write("handle", handles())
    write("reply_cache", reply_caches())
    write("stream", streams())
    write("record", records())
    write("rpc_call", rpc_calls())
    write("nfs3_args", nfs3_args())
    write("mount_portmap_args", mount_portmap_args())
    write("nlm4_args", nlm4_args())
    write("vaai", vaai())


if __name__ == "__main__":
    main()
