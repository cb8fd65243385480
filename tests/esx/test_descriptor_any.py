# SPDX-License-Identifier: Apache-2.0
"""Descriptors out of pieces put together and damaged at random: each is refused with a sentence, or
rewritten into one that can be rewritten again, with the new names and nothing else changed.

ESX_FUZZ_INPUTS says how many are tried (5000), ESX_FUZZ_SEED repeats a run.
"""
import os
import random

from esx import descriptor

INPUTS = int(os.environ.get("ESX_FUZZ_INPUTS", "5000"))
CHANGED = {"cid", "ddb.longcontentid", "ddb.uuid", "ddb.thinprovisioned", "changetrackpath",
           "encoding"}
PIECES = [
    b'RW 2048 VMFS "a-flat.vmdk"', b'RW 1 FLAT "b c.vmdk" 63', b"RW 7 ZERO", b"RW 7 ZERO 0",
    b'RDONLY 5 VMFS "r"', b'NOACCESS 1 FLAT "n" 0', b'RW 99999999999999999999 VMFS "x"',
    b'RW 1 VMFS ""', b'RW 1 VMFS "a', b'rw 1 vmfs "a"', b'\tRW  1  VMFS  "a"  ', b"RW",
    b"CID=12345678", b"cid = ffffffff", b"CID=", b'createType="vmfs"', b'createType="vmfsSparse"',
    b'createType="monolithicFlat"', b'CREATETYPE = "VMFS"', b"parentCID=ffffffff",
    b"parentCID=12345678", b'encoding="UTF-8"', b'encoding="windows-1252"', b'encoding="GBK"',
    b'ddb.uuid = "60 00 C2 9a"', b'ddb.longContentID = "9f"', b'ddb.thinProvisioned = "1"',
    b'ddb.thinProvisioned = "0"', b'changeTrackPath="a-ctk.vmdk"', b'ddb.iofilters = "x"',
    b"# Extent description", b"# x", b"", b"=", b"a=b", b'a = "b" # c', b'"="', b"\xef\xbb\xbf",
    b"\xff\xfe", b"\xc2\x85", b"\xe2\x80\xa8", b"\x0b", b"\x0c", b"\x1c", b"M\xc3\xa9tro", b"\0",
]


def any_descriptor(chance):
    lines = descriptor((2048, "a-flat.vmdk")).split(b"\n")
    for _ in range(chance.randrange(6)):
        at = chance.randrange(len(lines) + 1)
        lines[at:at + chance.randrange(2)] = [chance.choice(PIECES)]
    raw = bytearray(chance.choice((b"\n", b"\n", b"\r\n", b"\r")).join(lines))
    for _ in range(chance.choice((0, 0, 1, 3))):
        at = chance.randrange(len(raw) + 1)
        raw[at:at + chance.randrange(3)] = chance.choice(
            (b"", b'"', b"=", b"\n", b"\r", b" ", bytes([chance.randrange(256)])))
    return bytes(raw[:chance.randrange(len(raw) + 1)] if chance.random() < 0.1 else raw)


def settings_of(made):
    return {key: made.get(key) for key in made.keys() if key.lower() not in CHANGED}


def shape_of(made):
    return [(extent.kind, bool(extent.name), extent.bytes()) for extent in made.extents]


def rewritten(esx, raw, names, thin, ids):
    made = esx.Descriptor(raw, "x.vmdk")
    made.rename(names, ids, thin)
    return made.to_bytes()


def check(esx, raw, chance):
    """False if it was refused."""
    try:
        old = esx.Descriptor(raw, "x.vmdk")
    except esx.Failure as failure:
        assert "x.vmdk" in str(failure)
        return False
    names = ["n \u00fc %d.vmdk" % number for number in range(len(old.files()))]
    thin, ids = chance.random() < 0.5, chance.getrandbits(224).to_bytes(28, "big")
    try:
        raw_new = rewritten(esx, raw, names, thin, ids)
    except esx.Failure:  # in an encoding that lacks a name's character
        return False
    new = esx.Descriptor(raw_new, "y.vmdk")
    assert [extent.name for extent in new.files()] == names
    assert shape_of(new) == shape_of(old)
    assert settings_of(new) == settings_of(old)
    assert new.get("CID") == esx.content_id(ids[:4]) and new.get("ddb.uuid")
    assert (new.get("ddb.thinProvisioned") == "1") == thin
    again = rewritten(esx, raw_new, names, thin, ids)
    # A file cut behind a CR gets its LF with the next line, and is one with CRLF from then on.
    assert again.replace(b"\r\n", b"\n") == raw_new.replace(b"\r\n", b"\n")
    return True


def test_any_descriptor_is_refused_or_rewritten(esx):
    seed = int(os.environ.get("ESX_FUZZ_SEED") or random.SystemRandom().randrange(1 << 32))
    chance, taken = random.Random(seed), 0
    for number in range(INPUTS):
        raw = any_descriptor(chance)
        try:
            taken += check(esx, raw, chance)
        except Exception as error:
            raise AssertionError("ESX_FUZZ_SEED=%d, input %d: %r" % (seed, number, raw)) from error
    assert INPUTS // 20 < taken < INPUTS, "neither all nor nothing is fit to be cloned"
