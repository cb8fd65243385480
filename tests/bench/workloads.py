# SPDX-License-Identifier: Apache-2.0
"""What tests/bench/run measures, as one table.

A workload is one run of nfsbench. Most give one row of the report; those of small files give one a
phase. What must lie in the export first is made by the stage of that name (stages.py).
"""
from typing import NamedTuple

SMALL_PHASES = ("create", "write", "commit", "list", "read", "remove")

# At scale 1; --quick takes a tenth or a hundredth of them.
SMALL_FILES = 20_000
TREE_FILES = 66_544
TREE_FOLDERS = 25_572
FOLDER_ENTRIES = 1_000_000
OPEN_FILES = 10_000
BOOT_CLONES = 32
BOOT_CALLS = 4_000  # of each clone, about 17 KiB on average


class Workload(NamedTuple):
    """One run of nfsbench, most of them; {names} in argv are filled in by sizes()."""
    name: str
    argv: str
    group: str  # -k finds it by this too
    quick: bool = True
    echo: bool = False  # also against the RPC echo
    raw: str = ""  # rawbench's arguments for the same on this machine
    stage: str = ""
    base: str = ""  # of the same, smaller: what each operation costs more than there
    phases: tuple = ()
    guest: bool = False  # not nfsbench but a Linux kernel reads (kernel_read.py)

    def rows(self):
        """The names of its rows in the report."""
        return [f"{self.name}: {phase}" for phase in self.phases] or [self.name]


def sizes(scale):
    """The numbers in argv."""
    def scaled(number, least):
        return max(least, round(number * scale))
    return {"small": scaled(SMALL_FILES, 40), "boot_calls": scaled(BOOT_CALLS, 20),
            "clones": BOOT_CLONES, "tree_files": scaled(TREE_FILES, 30),
            "tree_folders": scaled(TREE_FOLDERS, 10), "entries": scaled(FOLDER_ENTRIES, 2000),
            "few_entries": 1000, "open_files": scaled(OPEN_FILES, 100)}


def _data(name, argv, **more):
    return Workload(name, argv, "data", echo=True, **more)


def _small(name, connections, stable=False, quick=True):
    phases = tuple(phase for phase in SMALL_PHASES if not (stable and phase == "commit"))
    return Workload(
        name, f"--op small --files {{small}} --connections {connections}"
        + (" --stable" if stable else ""), "small", quick, phases=phases,
        raw=f"--files {{small}} --threads {connections}")


def _connections(count, base=""):
    return Workload(f"4K read, depth 8, {count} connection{'s' if count > 1 else ''}",
                    f"--op read --depth 8 --connections {count} --files 1", "scaling",
                    quick=count != 64, base=base)


SYNC_64K = "--op sync --block 65536 --depth 4 --sequential"
ONE = "4K read, depth 8, 1 connection"
FEW_FILES = "4K read of 10 open files"
SMALL_SPARSE, LARGE_SPARSE = "a sparse file of 256 MiB", "a sparse file of 16 TiB"
FEW_ENTRIES, MANY_ENTRIES = "1,000 entries", "many entries"

WORKLOADS = [
    _data("4K random read, depth 32", "--op read"),
    _data("4K random read, depth 1", "--op read --depth 1"),
    _data("4K random read, depth 32, 8 connections",
          "--op read --connections 8 --file-mib 16", quick=False),
    _data("GETATTR, depth 32", "--op getattr"),
    _data("4K random FILE_SYNC write, depth 32", "--op sync", raw="--depth 32"),
    _data("4K random FILE_SYNC write, depth 4", "--op sync --depth 4", raw="--depth 4",
          quick=False),
    _data("4K random FILE_SYNC write, depth 1", "--op sync --depth 1", raw="--depth 1"),
    _data("4K random UNSTABLE write, depth 32", "--op write"),
    _data("4K mix, 70 % read, 30 % FILE_SYNC, depth 32", "--op mix"),
    _data("64K sequential FILE_SYNC write, depth 4", SYNC_64K,
          raw="--block 65536 --depth 4 --sequential"),
    _data("512K sequential read, depth 4", "--op read --block 524288 --depth 4 --sequential",
          quick=False),
    _data("1M sequential read, depth 4", "--op read --block 1048576 --depth 4 --sequential"),
    _data("1M sequential UNSTABLE write, depth 4",
          "--op write --block 1048576 --depth 4 --sequential", quick=False),

    _small("small files, 1 connection", 1),
    _small("small files, 4 connections", 4),
    _small("small files FILE_SYNC, 4 connections", 4, stable=True, quick=False),

    Workload("boot storm, 32 clones, cold", "--op read --boot --depth 2 --connections {clones}"
             " --name boot --file-mib {boot_mib} --calls {boot_calls}", "boot", stage="boot"),
    Workload("tree copied by 4 workers", "--op tree --connections 4 --copy-export {copy}", "tree",
             stage="tree"),

    Workload("buffered read by a Linux kernel", "", "kernel", stage="hdparm", guest=True),

    _connections(1),
    _connections(8, ONE),
    _connections(64, ONE),
    _connections(256, ONE),
    Workload(FEW_FILES, "--op read --any-file --files 10 --file-kib 64 --name open", "scaling",
             stage="open"),
    Workload("4K read of many open files", "--op read --any-file --files {open_files}"
             " --file-kib 64 --name open", "scaling", stage="open", base=FEW_FILES),
]

for _name, _file, _mib, _base in ((SMALL_SPARSE, "sparse-small", 256, ""),
                                  (LARGE_SPARSE, "sparse-large", (1 << 24) - 1, SMALL_SPARSE)):
    for _title, _op in (("4K read of holes, ", "--op read"),
                        ("4K FILE_SYNC write, ", "--op sync")):
        WORKLOADS.append(Workload(
            _title + _name, f"{_op} --name {_file} --file-mib {_mib}", "limits", stage="sparse",
            base=_title + _base if _base else ""))
for _name, _folder, _count, _base in ((FEW_ENTRIES, "few", "{few_entries}", ""),
                                      (MANY_ENTRIES, "many", "{entries}", FEW_ENTRIES)):
    for _title, _op in (("READDIR of ", "list"), ("READDIRPLUS of ", "listplus"),
                        ("LOOKUP in ", "lookup")):
        WORKLOADS.append(Workload(
            _title + _name, f"--op {_op} --folder {_folder} --entries {_count}", "limits",
            stage=_folder, base=_title + _base if _base else ""))


def chosen(words, quick, reflink=True):
    """Those with one of the words in their name or group, or all. Without reflink no clones."""
    return [load for load in WORKLOADS
            if (load.quick or not quick) and (reflink or load.stage != "boot")
            and (not words or any(word in load.name or word == load.group for word in words))]
