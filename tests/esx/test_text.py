# SPDX-License-Identifier: Apache-2.0
"""What lodestore-esx.py makes of descriptors and .vmx files: pure functions."""

import os
import re

import pytest

from esx import descriptor, vmx

RANDOM = bytes(range(100, 128))


def changed(before, after):
    """Lines that went, and lines that came."""
    old, new = before.decode().splitlines(), after.decode().splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


# ---- settings ----

@pytest.mark.parametrize("raw", [
    b"", b"\n", b"# only a remark\n", b'a = "1"', b'a = "1"\r\nb = "2"\r\n', b'a = "1"\n\n\nb=2\n',
    b'  indented = "x"   # remark\n', 'name = "M\u00e9tro \u4e2d"\n'.encode(),
    b'#!/usr/bin/vmware\nx = ""\n', b'a = "v=w # no remark"\n',
])
def test_what_is_not_changed_stays_as_it_was(esx, raw):
    assert esx.Settings(raw, "x.vmx").to_bytes() == raw


def test_names_that_are_not_utf8_survive(esx):
    raw = b'.encoding = "UTF-8"\nname = "\xff\xfe"\n'
    assert esx.Settings(raw, "x.vmx").to_bytes() == raw


def test_a_byte_order_mark_is_dropped(esx):
    assert esx.Settings(b'\xef\xbb\xbfa = "1"\n', "x.vmx").get("a") == "1"


def test_values_are_set_in_place_and_as_they_were_written(esx):
    settings = esx.Settings(b'# x\r\nKey = "a"\r\nCID=1\r\nlast = "z"\r\n', "x.vmx")
    settings.set("key", "b")
    settings.set("CID", "2")
    settings.set("new", "n")
    settings.remove("LAST")
    assert settings.to_bytes() == b'# x\r\nKey = "b"\r\nCID=2\r\nnew = "n"\r\n'
    assert settings.get("last", "gone") == "gone"
    settings.set("cid", "2 3")  # a blank ends a value without quotes
    assert b'CID="2 3"' in settings.to_bytes()


@pytest.mark.parametrize("raw, said", [
    (b"a\n", "line 1"), (b'x = "1"\nwhat is this\n', "line 2"), (b'a = "1\n', "line 1"),
    (b'a = "1"\nA = "2"\n', "twice"), (b'a = "\0"\n', "not a text file"),
    (b'= "1"\n', "line 1"), (b'a = "1" b = "2"\n', "line 1"),
    (b'.encoding = "windows-1252"\na = "\xe9"\n', "windows-1252"),
    (b'.encoding = "GBK"\na = "\xb5\xc4"\n', "GBK"),
])
def test_malformed_settings_are_refused_with_their_place(esx, raw, said):
    with pytest.raises(esx.Failure, match=said):
        esx.Settings(raw, "x.vmx")


def test_another_encoding_is_fine_without_its_characters(esx):
    settings = esx.Settings(b'.encoding = "windows-1252"\nname = "a"\n', "x.vmx")
    settings.set("name", "M\u00e9tro")
    settings.declare_utf8(".encoding")
    assert settings.to_bytes() == '.encoding = "UTF-8"\nname = "M\u00e9tro"\n'.encode()


def test_utf8_is_declared_where_it_was_not(esx):
    settings = esx.Settings(b'#!/x\nname = "a"\n', "x.vmx")
    settings.declare_utf8(".encoding")
    assert b"encoding" not in settings.to_bytes()
    settings.set("name", "\u4e2d")
    settings.declare_utf8(".encoding")
    assert settings.to_bytes().splitlines()[1] == b'.encoding = "UTF-8"'


@pytest.mark.parametrize("text, written", [
    ("plain", "plain"), ('a"b', "a|22b"), ("a|b", "a|7Cb"), ("a#b", "a|23b"), ("a\nb", "a|0Ab"),
    ("\u00e9 \u4e2d", "\u00e9 \u4e2d"),
])
def test_escapes_go_both_ways(esx, text, written):
    assert esx.escape(text) == written
    assert esx.unescape(written) == text


# ---- descriptors ----

def rename(esx, raw, names, thin=True):
    made = esx.Descriptor(raw, "/x/old.vmdk")
    made.rename(names, RANDOM, thin)
    return made.to_bytes()


def test_a_clone_has_new_names_and_ids_and_nothing_else(esx):
    raw = descriptor((2048, "old-flat.vmdk"))
    went, came = changed(raw, rename(esx, raw, ["new-flat.vmdk"]))
    assert len(went) == len(came) == 4
    assert came[0] == "CID=64656667"
    assert came[1] == 'RW 2048 VMFS "new-flat.vmdk"'
    assert came[2] == 'ddb.longContentID = "68696a6b6c6d6e6f7071727364656667"'
    assert came[3] == 'ddb.uuid = "60 00 C2 93 74 75 76 77-78 79 7a 7b 7c 7d 7e 7f"'
    assert "parentCID=ffffffff" in raw.decode()


def test_ids_are_never_those_with_a_meaning(esx):
    for random in (b"\xff\xff\xff\xff", b"\xff\xff\xff\xfe"):
        assert esx.content_id(random) not in ("ffffffff", "fffffffe")
        assert re.match("[0-9a-f]{8}$", esx.content_id(random))
    assert esx.content_id(bytes(4)) == "00000000"


def test_crlf_stays(esx):
    raw = descriptor((2048, "old-flat.vmdk"), eol="\r\n")
    made = rename(esx, raw, ["new-flat.vmdk"])
    assert made.count(b"\r\n") == made.count(b"\n") == raw.count(b"\n")


@pytest.mark.parametrize("name", ["a b-flat.vmdk", "M\u00e9tro \u4e2d-flat.vmdk", "it's-flat.vmdk",
                                  "sub/x-flat.vmdk", "/vmfs/volumes/lab/x/x-flat.vmdk"])
def test_quoted_names(esx, name):
    raw = descriptor((2048, name))
    assert [extent.name for extent in esx.Descriptor(raw, "x").files()] == [name]
    assert 'VMFS "n \u00fc-flat.vmdk"'.encode() in rename(esx, raw, ["n \u00fc-flat.vmdk"])


def test_flat_extents_keep_their_offsets(esx):
    raw = descriptor((2048, "a")).replace(b'VMFS "a"', b'FLAT "a-flat.vmdk" 63') \
        .replace(b'"vmfs"', b'"monolithicFlat"')
    assert esx.Descriptor(raw, "x").files()[0].bytes() == (2048 + 63) * 512
    assert b'RW 2048 FLAT "b-flat.vmdk" 63\n' in rename(esx, raw, ["b-flat.vmdk"])


def test_several_extents_and_runs_of_zeros(esx):
    raw = descriptor((100, "a-f001.vmdk"), (100, "a-f002.vmdk"), kind="twoGbMaxExtentFlat")
    raw = raw.replace(b"\n\n# The Disk", b"\nRW 7 ZERO\n\n# The Disk")
    made = rename(esx, raw, ["b-f001.vmdk", "b-f002.vmdk"])
    assert b'"b-f001.vmdk"\nRW 100 VMFS "b-f002.vmdk"\nRW 7 ZERO\n' in made


def test_change_tracking_is_left_behind(esx):
    raw = descriptor((1, "a"), head='# Change Tracking File\nchangeTrackPath="a-ctk.vmdk"')
    assert b"changeTrackPath" not in rename(esx, raw, ["b"])


def test_thin_and_thick(esx):
    thick, thin = descriptor((1, "a"), thin=False), descriptor((1, "a"))
    assert b'ddb.thinProvisioned = "1"' in rename(esx, thick, ["b"])
    assert b"thinProvisioned" not in rename(esx, thin, ["b"], thin=False)


def test_uuid_and_encoding_are_added_where_there_are_none(esx):
    raw = b'version=1\nCID=1\nparentCID=ffffffff\ncreateType="vmfs"\nRW 1 VMFS "a"\n'
    made = rename(esx, raw, ["\u4e2d.vmdk"])
    assert made.startswith(b'encoding = "UTF-8"\nversion=1\n')
    assert b'ddb.uuid = "60 00' in made
    assert b"longContentID" not in made
    assert b"encoding" not in rename(esx, raw, ["b.vmdk"])


@pytest.mark.parametrize("raw, said", [
    (b"KDMV" + bytes(1000), "vmkfstools -i"), (b"COWD" + bytes(1000), "vmkfstools -i"),
    (bytes(4096), "no disk descriptor but data"), (b"\xff" * 300000, "no disk descriptor but data"),
    (b"# x\n" * 100000, "no disk descriptor but data"), (b"", "no disk descriptor"),
    (b"CID=1\n", "no createType"), (b'createType="vmfs"\n', "no CID"),
    (b"\x01\x02rubbish", "line 1"),
    (descriptor((1, "a"), kind="vmfsSparse"), "snapshot.removeall"),
    (descriptor((1, "a"), kind="seSparse"), "snapshot.removeall"),
    (descriptor((1, "a"), head='parentFileNameHint="b.vmdk"'), "snapshot.removeall"),
    (descriptor((1, "a"), head='isNativeSnapshot="yes"'), "snapshot.removeall"),
    (descriptor((1, "a")).replace(b"parentCID=ffffffff", b"parentCID=12345678"), "snapshot"),
    (descriptor((1, "a"), kind="vmfsRawDeviceMap"), "RDM"),
    (descriptor((1, "a"), kind="vmfsPassthroughRawDeviceMap"), "RDM"),
    (descriptor((1, "a"), kind="monolithicSparse"), "vmkfstools -i"),
    (descriptor((1, "a"), kind="streamOptimized"), "vmkfstools -i"),
    (descriptor((1, "a"), kind="somethingNew"), "somethingNew"),
    (descriptor((1, "a")) + b'ddb.iofilters = "cache"\n', "I/O filter"),
    (descriptor((1, "a")) + b'ddb.sidecars = "x.vmfd"\n', "I/O filter"),
    (descriptor(), "names no file"),
    (descriptor((1, "a")).replace(b'VMFS "a"', b"ZERO"), "names no file"),
    (descriptor((1, "a")).replace(b'VMFS "a"', b"VMFS"), "kind VMFS"),
    (descriptor((1, "a")).replace(b"VMFS", b"SPARSE"), "kind SPARSE"),
    (descriptor((1, "a")).replace(b"RW 1", b"RW x"), "not an extent"),
    (descriptor((1, "a")).replace(b"RW 1", b"RW -1"), "not an extent"),
    (descriptor((1, "a")).replace(b'"a"', b'"a'), "not an extent"),
])
def test_what_is_no_disk_to_clone_is_refused(esx, raw, said):
    with pytest.raises(esx.Failure, match=said):
        esx.Descriptor(raw, "/x/a.vmdk")


def test_any_bytes_are_taken_or_refused_but_nothing_else(esx):
    """Damaged descriptors: whatever is cut or changed, there is an answer."""
    raw = descriptor((2048, "a-flat.vmdk"))
    for at in range(0, len(raw), 7):
        for damaged in (raw[:at], raw[:at] + b"\xff" + raw[at + 1:], raw[:at] + b'"' + raw[at:]):
            try:
                esx.Descriptor(damaged, "x").rename(["b"], os.urandom(28), True)
            except esx.Failure:
                pass


# ---- machines ----

def settings(esx, *disks, more=""):
    return esx.Settings(vmx("old", *disks, more=more), "/x/old.vmx")


def test_what_is_the_old_machines_goes_and_the_rest_stays(esx):
    made = settings(esx, "old.vmdk", more='guestinfo.k = "v"\nviv.moid = "u:vm-1"\n'
                    'scsi0.sasWWID = "50 05"\nvmci0.id = "17"\nmigrate.hostlog = "./old.hlog"\n'
                    'ctkEnabled = "TRUE"\nscsi0:0.ctkEnabled = "TRUE"\nworkingDir = "/x"\n'
                    'vmxstats.filename = "old.scoreboard"\ncheckpoint.vmState = ""')
    files = {"scsi0:0.filename": "new.vmdk", "nvram": "new.nvram"}
    assert esx.rewrite_vmx(made, "new", files, False) == []
    went, came = changed(vmx("old", "old.vmdk"), made.to_bytes())
    gone = {line.split(" ")[0] for line in went} - {line.split(" ")[0] for line in came}
    assert gone == {"uuid.bios", "uuid.location", "vc.uuid", "vm.genid", "vm.genidX",
                    "ethernet0.generatedAddress", "ethernet0.generatedAddressOffset",
                    "sched.swap.derivedName"}
    assert sorted(came) == sorted([
        'displayName = "new"', 'extendedConfigFile = "new.vmxf"', 'guestinfo.k = "v"',
        'nvram = "new.nvram"', 'scsi0:0.fileName = "new.vmdk"', 'uuid.action = "create"',
        'vmxstats.filename = "new.scoreboard"'])
    assert b"old" not in made.to_bytes()


def test_uuid_action_is_set_once(esx):
    made = settings(esx, more='uuid.action = "keep"')
    esx.rewrite_vmx(made, "new", {}, False)
    assert made.to_bytes().count(b"uuid.action") == 1
    assert made.get("uuid.action") == "create"


@pytest.mark.parametrize("keep, kind, has_address", [(False, "generated", False),
                                                     (True, "static", True)])
def test_static_addresses_are_told(esx, keep, kind, has_address):
    made = settings(esx, more='ethernet1.present = "TRUE"\nethernet1.addressType = "static"\n'
                    'ethernet1.address = "00:50:56:00:00:01"')
    remarks = esx.rewrite_vmx(made, "new", {}, keep)
    assert len(remarks) == 1 and "00:50:56:00:00:01" in remarks[0]
    assert made.get("ethernet1.addressType") == kind
    assert bool(made.get("ethernet1.address")) == has_address


def test_vcenters_addresses_become_generated_ones_and_switch_ports_are_told(esx):
    made = settings(esx, more='ethernet1.present = "TRUE"\nethernet1.addressType = "vpx"\n'
                    'ethernet1.generatedAddress = "00:50:56:81:00:01"\nethernet1.dvs.portId = "7"')
    remarks = esx.rewrite_vmx(made, "new", {}, False)
    assert len(remarks) == 1 and "distributed switch" in remarks[0]
    assert made.get("ethernet1.addressType") == "generated"
    assert not made.get("ethernet1.generatedAddress")


def test_disks_are_found_wherever_they_hang(esx):
    made = settings(esx, "a.vmdk", more='nvme0:0.fileName = "b.vmdk"\nnvme0:0.present = "TRUE"\n'
                    'sata0:1.fileName = "c.VMDK"\nsata0:1.present = "true"\n'
                    'sata0:0.deviceType = "cdrom-image"\nsata0:0.fileName = "/vmfs/x.iso"\n'
                    'sata0:0.present = "TRUE"\nide1:0.deviceType = "atapi-cdrom"\n'
                    'ide1:0.fileName = "emptyBackingString"\nide1:0.present = "TRUE"\n'
                    'scsi0:9.fileName = "gone.vmdk"\nscsi0:9.present = "FALSE"')
    assert esx.disk_files(made) == [("scsi0:0.filename", "a.vmdk"), ("nvme0:0.filename", "b.vmdk"),
                                    ("sata0:1.filename", "c.VMDK")]
    assert esx.own_files(made) == [("nvram", "old.nvram")]
    esx.rewrite_vmx(made, "new", {}, False)
    assert b"gone.vmdk" not in made.to_bytes()
    assert b"/vmfs/x.iso" in made.to_bytes()


def test_images_in_the_machines_directory_are_its_own(esx):
    made = settings(esx, more='sata0:0.deviceType = "cdrom-image"\nsata0:0.fileName = "seed.iso"\n'
                    'sata0:0.present = "TRUE"\nfloppy0.present = "TRUE"\n'
                    'floppy0.fileName = "a|22b.flp"\nfloppy1.present = "TRUE"\n'
                    'floppy1.fileType = "device"\nfloppy1.fileName = "fd0"')
    assert esx.own_files(made) == [("nvram", "old.nvram"), ("sata0:0.filename", "seed.iso"),
                                   ("floppy0.filename", 'a"b.flp')]


@pytest.mark.parametrize("more, said", [
    ('encryption.keySafe = "x"', "encrypted"), ('encryption.data = "x"', "encrypted"),
    ('checkpoint.vmState = "old-1.vmss"', "suspended"), ('scsi0:0.redo = "./a-REDO"', "redo log"),
])
def test_machines_that_cannot_be_cloned(esx, more, said):
    with pytest.raises(esx.Failure, match=said):
        esx.check_vmx(settings(esx, "a.vmdk", more=more))


def test_a_file_without_config_version_is_no_machine(esx):
    with pytest.raises(esx.Failure, match="config.version"):
        esx.check_vmx(esx.Settings(b'displayName = "x"\n', "x.vmx"))


# ---- names ----

def test_the_old_name_in_front_becomes_the_new_one(esx):
    names = esx.Names("tmpl", "vm7")
    assert names.disk("/x/tmpl.vmdk", 1) == ("vm7.vmdk", ["vm7-flat.vmdk"])
    assert names.disk("/x/tmpl_1.vmdk", 1) == ("vm7_1.vmdk", ["vm7_1-flat.vmdk"])
    assert names.disk("/x/tmplate.vmdk", 1) == ("tmplate.vmdk", ["tmplate-flat.vmdk"])
    assert names.disk("/x/data.vmdk", 2) == ("data.vmdk", ["data-f001.vmdk", "data-f002.vmdk"])
    assert names.file("/x/tmpl.nvram") == "vm7.nvram"


def test_the_same_name_in_two_directories_stays_two(esx):
    names = esx.Names("tmpl", "vm7")
    assert names.disk("/a/tmpl.vmdk", 1)[0] == "vm7.vmdk"
    assert names.disk("/b/tmpl.vmdk", 1) == ("vm7_2.vmdk", ["vm7_2-flat.vmdk"])
    assert names.disk("/b/TMPL.vmdk", 1)[0] == "TMPL.vmdk"
    assert names.disk("/c/tmpl.VMDK", 1)[0] == "vm7_3.vmdk"


def test_a_disk_named_as_anothers_data_gets_another_name(esx):
    names = esx.Names("tmpl", "vm7")
    names.disk("/a/x.vmdk", 1)
    assert names.disk("/a/x-flat.vmdk", 1)[0] == "x-flat_2.vmdk"


@pytest.mark.parametrize("name", ["", ".", ".x", "a/b", "a\\b", 'a"b', "a|b", "a\nb", " a", "a ",
                                  "x" * 81, "\u4e2d" * 70])
def test_names_that_are_refused(esx, name):
    with pytest.raises(esx.Failure) as caught:
        esx.check_name(name)
    assert caught.value.status == 2


@pytest.mark.parametrize("name", ["vm7", "My VM (2)", "M\u00e9tro", "x" * 80, "a.b", "%2f"])
def test_names_that_are_taken(esx, name):
    esx.check_name(name)
