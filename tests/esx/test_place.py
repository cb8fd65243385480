# SPDX-License-Identifier: Apache-2.0
"""Where lodestore-esx.py finds datastores, disks and locks, and how it plans: reading only."""

import argparse
import os
import threading
import time

import pytest

from esx import descriptor, lock_name, make_machine, vmx, write, write_disk

# As esxcli writes it: columns by the alphabet, a comma at the end of each line.
NFS_LIST = """Accessible,HardwareAcceleration,Host,Mounted,ReadOnly,Share,VolumeName,isPE,
true,Not Supported,192.0.2.10,true,false,/srv/lab,lab,false,
true,Not Supported,nas.example,true,false,"/srv/a, b",two,false,
"""


# ---- the datastore ----

def test_esxcli_is_understood(esx):
    assert esx.parse_nfs_list(NFS_LIST) == [("lab", "192.0.2.10", "/srv/lab"),
                                            ("two", "nas.example", "/srv/a, b")]
    assert esx.parse_nfs_list("") == []
    assert esx.parse_nfs_list("rubbish\nrubbish") == []


def test_mounts_are_understood(esx):
    text = ("proc /proc proc rw 0 0\n"
            "nas:/srv/lab /mnt/my\\040lab nfs rw,vers=3,addr=192.0.2.10,mountport=2049 0 0\n"
            "[2001:db8::1]:/x /x nfs rw,port=32049,addr=2001:db8::1 0 0\nshort line\n"
            "nas:/srv/cifs /c cifs rw 0 0\n")
    assert esx.parse_mounts(text) == [("/mnt/my lab", "nas", "/srv/lab", 2049),
                                      ("/x", "2001:db8::1", "/x", 32049)]


@pytest.mark.parametrize("text, host, port", [
    ("nas", "nas", 2049), ("nas:1234", "nas", 1234), ("192.0.2.1", "192.0.2.1", 2049),
    ("[2001:db8::1]:99", "2001:db8::1", 99), ("[::1]", "::1", 2049),
    ("2001:db8::1", "2001:db8::1", 2049),
])
def test_servers(esx, text, host, port):
    assert esx.split_server(text) == (host, port)


@pytest.mark.parametrize("text", ["", ":", "nas:", "nas:0", "nas:65536", "nas:x", "[::1",
                                  "a b:c:d"])
def test_servers_that_are_none(esx, text):
    with pytest.raises(esx.Failure):
        esx.split_server(text)


@pytest.fixture(name="volumes")
def fixture_volumes(esx, tmp_path, monkeypatch):
    """/vmfs/volumes of a host with the datastores of NFS_LIST, and its esxcli."""
    for name, real in (("lab", "8a6b4c2d-1f2e3d4c"), ("two", "11111111-22222222")):
        (tmp_path / real).mkdir()
        (tmp_path / name).symlink_to(real)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "esxcli").write_text(
        '#!/bin/sh\n[ "$*" = "--formatter=csv storage nfs list" ] || exit 9\n'
        "cat << 'END'\n" + NFS_LIST + "END\n")
    (tmp_path / "bin" / "esxcli").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin") + ":" + os.environ["PATH"])
    monkeypatch.setattr(esx, "VOLUMES", str(tmp_path))
    return tmp_path


def arguments(**given):
    values = {"server": None, "export": None, "mount": None, "datastore": []}
    values.update(given)
    return argparse.Namespace(**values)


def test_a_host_knows_its_datastores(esx, volumes):
    path = str(volumes / "8a6b4c2d-1f2e3d4c" / "vm" / "vm.vmx")
    store = esx.find_datastore(path, arguments())
    assert (store.host, store.port, store.share) == ("192.0.2.10", 2049, "/srv/lab")
    assert store.remote(path) == "/srv/lab/vm/vm.vmx"
    assert store.shown(path) == str(volumes) + "/lab/vm/vm.vmx"
    for volume in ("lab", "8a6b4c2d-1f2e3d4c"):
        named = "%s/%s/x/d.vmdk" % (volumes, volume)
        assert store.find(named, "/", "x.vmx") == str(volumes / "8a6b4c2d-1f2e3d4c/x/d.vmdk")
    with pytest.raises(esx.Failure, match="not on this datastore"):
        store.find(str(volumes / "two" / "d.vmdk"), "/", "x.vmx")


def test_a_vmfs_datastore_is_told(esx, volumes):
    (volumes / "local").mkdir()
    with pytest.raises(esx.Failure, match="no NFS datastore"):
        esx.find_datastore(str(volumes / "local" / "vm" / "vm.vmx"), arguments())


def test_a_host_whose_esxcli_fails_can_be_told(esx, volumes):
    (volumes / "bin" / "esxcli").write_text("#!/bin/sh\nexit 1\n")
    path = str(volumes / "8a6b4c2d-1f2e3d4c" / "vm.vmx")
    with pytest.raises(esx.Failure, match="--mount DIR"):
        esx.find_datastore(path, arguments())
    store = esx.find_datastore(path, arguments(server="nas:99", export="/srv/lab/",
                                               mount=str(volumes / "lab"), datastore=["lab"]))
    assert (store.host, store.port, store.remote(path)) == ("nas", 99, "/srv/lab/vm.vmx")
    assert store.shown(path).endswith("/lab/vm.vmx")


def test_what_does_not_fit_is_told(esx, tmp_path):
    with pytest.raises(esx.Failure, match="needs --server"):
        esx.find_datastore("/x/vm.vmx", arguments(export="/x"))
    with pytest.raises(esx.Failure, match="--mount DIR"):
        esx.find_datastore("/x/vm.vmx", arguments(export="/y", server="nas"))
    with pytest.raises(esx.Failure, match="no NFS datastore"):
        esx.find_datastore(str(tmp_path / "vm.vmx"), arguments())


def test_the_root_can_be_an_export(esx):
    store = esx.Datastore("/", "/", "nas")
    assert store.remote("/vm/vm.vmx") == "/vm/vm.vmx"
    assert esx.Datastore("/mnt", "/", "nas").remote("/mnt/a") == "/a"
    assert esx.Datastore("/mnt", "/srv/x/", "nas").remote("/mnt") == "/srv/x"
    assert esx.Datastore("/mnt", "/srv/x/", "nas").below("/mntx/a") is None


# ---- locks ----

def test_a_locks_name_is_the_file_id_lowest_byte_first(esx):
    assert esx.lock_file_id(".lck-0102000000000000") == 0x0201
    for name in (".lck-", ".lck-01", ".lck-0102000000000000x", "lck-0102000000000000", ".lck-zz"):
        assert esx.lock_file_id(name) is None


def test_locks_of_other_files_do_not_concern_us(esx, tmp_path):
    ours, other = str(tmp_path / "a-flat.vmdk"), str(tmp_path / "b-flat.vmdk")
    for path in (ours, other):
        write(path, b"")
    assert esx.find_locks(str(tmp_path), [ours]) == []
    for path in (ours, other):
        write(str(tmp_path / lock_name(path)), bytes(84))
    write(str(tmp_path / ".lck-0123456789abcdef"), bytes(84))  # of no file that is here
    found = [os.path.basename(lock) for lock in esx.find_locks(str(tmp_path), [ours])]
    assert sorted(found) == sorted([lock_name(ours), ".lck-0123456789abcdef"])


def test_a_refreshed_lock_is_seen_whatever_its_clock_says(esx, tmp_path, monkeypatch):
    monkeypatch.setattr(esx, "LOCK_LOOK_S", 0.05)
    still, moving = str(tmp_path / ".lck-1"), str(tmp_path / ".lck-2")
    for path in (still, moving):
        write(path, bytes(84))
        os.utime(path, (1000, 1000))
    assert esx.fresh_lock([still, moving]) is None
    assert esx.refreshed_lock([still, moving], 0.3) is None

    def refresh():
        time.sleep(0.2)
        write(moving, bytes(83) + b"\1")
        os.utime(moving, (1000, 1000))

    thread = threading.Thread(target=refresh)
    thread.start()
    assert esx.refreshed_lock([still, moving], 20) == moving
    thread.join()
    assert esx.refreshed_lock([], 20) is None
    assert esx.refreshed_lock([str(tmp_path / "gone")], 0.1) is None
    write(still, bytes(84))
    assert esx.fresh_lock([moving, still]) == still


# ---- plans ----

def plan(esx, source, top, new="vm7", names=()):
    store = esx.Datastore(str(top), "/srv/lab", "nas", names=names)
    return esx.Plan(esx.find_vmx(source), os.path.join(str(top), new), new, store)


def test_a_plan_names_all_and_reads_only(esx, tmp_path):
    home = make_machine(tmp_path, "tmpl", (1 << 20, 2 << 20))
    made = plan(esx, home, tmp_path)
    assert [(os.path.basename(source), name) for source, name in made.clones()] == [
        ("tmpl-flat.vmdk", "vm7-flat.vmdk"), ("tmpl_1-flat.vmdk", "vm7_1-flat.vmdk"),
        ("tmpl.nvram", "vm7.nvram")]
    assert made.bytes() == 3 << 20
    assert not os.path.exists(str(tmp_path / "vm7"))


def test_without_an_nvram_there_is_none_to_clone(esx, tmp_path):
    home = make_machine(tmp_path, "tmpl")
    os.unlink(home + "/tmpl.nvram")
    made = plan(esx, home, tmp_path)
    assert len(made.clones()) == 1
    assert made.new_names["nvram"] == "vm7.nvram"


@pytest.mark.parametrize("note", [b"", b"rubbish", b"{}", b"[1]", b"\xff", b'["/x.vmx", "vm7"]'])
def test_a_note_of_something_else_is_nobodys_clone(esx, tmp_path, note):
    made = plan(esx, make_machine(tmp_path, "tmpl"), tmp_path)
    os.mkdir(made.new_folder)
    write(made.new(esx.NOTE), note)
    with pytest.raises(esx.Failure, match="another machine"):
        esx.check_new_folder(made, [made.vmx_path, "vm7", "1"])


def test_disks_of_the_same_name_and_absolute_paths(esx, tmp_path):
    home = make_machine(tmp_path, "tmpl")
    other = make_machine(tmp_path, "other")
    os.rename(other + "/other.vmdk", other + "/tmpl.vmdk")
    write(home + "/tmpl.vmx", vmx("tmpl", "tmpl.vmdk", "/vmfs/volumes/lab/other/tmpl.vmdk",
                                  "../other/tmpl.vmdk"))
    made = plan(esx, home, tmp_path, names=["lab"])
    assert [(disk.path, disk.new_name) for disk in made.disks] == [
        (home + "/tmpl.vmdk", "vm7.vmdk"), (other + "/tmpl.vmdk", "vm7_2.vmdk")]
    assert made.new_names["scsi0:2.filename"] == "vm7_2.vmdk"  # one disk, named twice
    assert made.clones()[1] == (other + "/other-flat.vmdk", "vm7_2-flat.vmdk")


def test_disks_elsewhere_are_refused(esx, tmp_path):
    home = make_machine(tmp_path, "tmpl")
    for name in ("/vmfs/volumes/other/x/x.vmdk", "../../x.vmdk", "/etc/x.vmdk"):
        write(home + "/tmpl.vmx", vmx("tmpl", name))
        with pytest.raises(esx.Failure, match="not on this datastore"):
            plan(esx, home, tmp_path, names=["lab"])


def test_damaged_disks_are_refused(esx, tmp_path):
    home = make_machine(tmp_path, "tmpl")
    write_disk(home + "/tmpl-flat.vmdk", (1 << 20) - 512, [])
    with pytest.raises(esx.Failure, match="shorter than"):
        plan(esx, home, tmp_path)
    os.unlink(home + "/tmpl-flat.vmdk")
    with pytest.raises(esx.Failure, match="not there"):
        plan(esx, home, tmp_path)
    write_disk(home + "/tmpl.vmdk", 1 << 30, [])
    with pytest.raises(esx.Failure, match="not the -flat.vmdk"):
        plan(esx, home, tmp_path)


def test_the_vmx_is_found_or_asked_for(esx, tmp_path):
    home = make_machine(tmp_path, "tmpl")
    assert esx.find_vmx(home) == home + "/tmpl.vmx"
    write(home + "/second.vmx", vmx("second"))
    with pytest.raises(esx.Failure, match="several: second.vmx, tmpl.vmx"):
        esx.find_vmx(home)
    assert esx.find_vmx(home + "/second.vmx") == home + "/second.vmx"
    os.unlink(home + "/tmpl.vmx")
    os.rename(home + "/second.vmx", home + "/second.vmtx")
    assert esx.find_vmx(home) == home + "/second.vmtx"
    os.unlink(home + "/second.vmtx")
    with pytest.raises(esx.Failure, match="no .vmx"):
        esx.find_vmx(home)


def test_a_huge_vmx_is_refused(esx, tmp_path):
    home = make_machine(tmp_path, "tmpl")
    write(home + "/tmpl.vmx", b"#" * ((4 << 20) + 1))
    with pytest.raises(esx.Failure, match="larger than any"):
        plan(esx, home, tmp_path)


def test_orphans_and_shared_disks_are_told(esx, tmp_path):
    home = make_machine(tmp_path, "tmpl")
    write(home + "/tmpl-000001-delta.vmdk", b"")
    write(home + "/tmpl.vmx", vmx("tmpl", "tmpl.vmdk", more='scsi0:0.sharing = "multi-writer"'))
    told = plan(esx, home, tmp_path).remarks()
    assert len(told) == 2
    assert "tmpl-000001-delta.vmdk" in told[0] and "scsi0:0 is shared" in told[1]


@pytest.mark.parametrize("left", ["tmpl-1a2b.vswp", "vmx-tmpl-1a2b-1.vswp", "tmpl.vmx~",
                                  "tmpl.vmx.lck"])
def test_signs_of_life_are_refused_unless_told_otherwise(esx, tmp_path, left):
    home = make_machine(tmp_path, "tmpl")
    made = plan(esx, home, tmp_path)
    esx.check_not_running(made, False)
    write(os.path.join(home, left), b"")
    with pytest.raises(esx.Failure, match=left) as caught:
        esx.check_not_running(made, False)
    assert caught.value.status == 3
    esx.check_not_running(made, True)


def test_a_machine_that_was_not_shut_down_is_refused(esx, tmp_path):
    home = make_machine(tmp_path, "tmpl")
    write(home + "/tmpl.vmx", vmx("tmpl", "tmpl.vmdk").replace(b'cleanShutdown = "TRUE"',
                                                               b'cleanShutdown = "FALSE"'))
    with pytest.raises(esx.Failure, match="cleanShutdown"):
        esx.check_not_running(plan(esx, home, tmp_path), False)


def test_locks_beside_disks_in_other_directories_count(esx, tmp_path):
    home, other = make_machine(tmp_path, "tmpl"), make_machine(tmp_path, "other")
    write(home + "/tmpl.vmx", vmx("tmpl", "../other/other.vmdk"))
    made = plan(esx, home, tmp_path)
    write(other + "/" + lock_name(other + "/other.nvram"), bytes(84))
    esx.check_not_running(made, False)
    write(other + "/" + lock_name(other + "/other-flat.vmdk"), bytes(84))
    with pytest.raises(esx.Failure, match="runs") as caught:
        esx.check_not_running(made, False)
    assert caught.value.status == 3


def test_descriptors_are_utf8_whatever_the_name(esx, tmp_path):
    home = make_machine(tmp_path, "M\u00e9tro \u4e2d")
    write(home + "/M\u00e9tro \u4e2d.vmdk",
          descriptor((2048, "M\u00e9tro \u4e2d-flat.vmdk")))
    assert plan(esx, home, tmp_path).clones()[0] == (home + "/M\u00e9tro \u4e2d-flat.vmdk",
                                                     "vm7-flat.vmdk")
