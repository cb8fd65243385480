# SPDX-License-Identifier: Apache-2.0
"""lodestore-esx.py as a module, and machines to clone."""

import importlib.util
import os
import pathlib

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "offload" / "esx" / "lodestore-esx.py"


def load():
    spec = importlib.util.spec_from_file_location("lodestore_esx", str(SCRIPT))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def descriptor(*extents, kind="vmfs", head="", thin=True, eol="\n"):
    """As ESXi writes one; extents are (sectors, file name)."""
    lines = ["# Disk DescriptorFile", "version=1", 'encoding="UTF-8"', "CID=e4e36a8f",
             "parentCID=ffffffff", 'createType="%s"' % kind] + head.split("\n") + [
             "# Extent description"]
    lines += ['RW %d VMFS "%s"' % extent for extent in extents]
    lines += ["", "# The Disk Data Base ", "#DDB", "", 'ddb.adapterType = "lsilogic"',
              'ddb.longContentID = "9fa218ea3c6d4f2e9a2c1c32e4e36a8f"']
    lines += ['ddb.thinProvisioned = "1"'] if thin else []
    lines += ['ddb.uuid = "60 00 C2 9a 78 a3 7a 4b-a5 2c 5a 71 82 9f 51 ef"',
              'ddb.virtualHWVersion = "19"', ""]
    return eol.join(lines).encode()


def vmx(name, *disks, more="", eol="\n"):
    """As ESXi writes one; disks are file names."""
    lines = ['.encoding = "UTF-8"', 'config.version = "8"', 'virtualHW.version = "19"',
             'nvram = "%s.nvram"' % name, 'displayName = "%s"' % name,
             'extendedConfigFile = "%s.vmxf"' % name, 'scsi0.present = "TRUE"',
             'scsi0.virtualDev = "pvscsi"']
    for number, disk in enumerate(disks):
        lines += ['scsi0:%d.deviceType = "scsi-hardDisk"' % number,
                  'scsi0:%d.fileName = "%s"' % (number, disk),
                  'scsi0:%d.present = "TRUE"' % number]
    lines += ['ethernet0.present = "TRUE"', 'ethernet0.addressType = "generated"',
              'ethernet0.generatedAddress = "00:0c:29:4c:23:7b"',
              'ethernet0.generatedAddressOffset = "0"',
              'uuid.bios = "56 4d cd 3f 59 5b 61 43-fd 73 ef 46 56 4c 23 7b"',
              'uuid.location = "56 4d cd 3f 59 5b 61 43-fd 73 ef 46 56 4c 23 7b"',
              'vc.uuid = "52 ab 0c 11 22 33 44 55-66 77 88 99 aa bb cc dd"',
              'vm.genid = "-1033732349146259583"', 'vm.genidX = "-5789930034112383728"',
              'sched.swap.derivedName = "/vmfs/volumes/lab/x/x-1.vswp"',
              'cleanShutdown = "TRUE"'] + (more.split("\n") if more else [])
    return eol.join(lines + [""]).encode()


def write(path, data):
    with open(os.fsencode(path), "wb") as made:
        made.write(data)
        made.flush()
        os.fsync(made.fileno())


def write_disk(path, size, data):
    """A sparse file; data: (offset, bytes)."""
    with open(os.fsencode(path), "wb") as made:
        made.truncate(size)
        for offset, part in data:
            made.seek(offset)
            made.write(part)
        made.flush()
        os.fsync(made.fileno())


def make_machine(folder, name, sizes=(1 << 20,), thin=True):
    """A machine that was shut down, in folder/name, with what an ESXi host leaves there."""
    home = os.path.join(str(folder), name)
    os.mkdir(os.fsencode(home), 0o755)
    disks = [name + ("_%d" % number if number else "") for number in range(len(sizes))]
    for disk, size in zip(disks, sizes):
        write(home + "/" + disk + ".vmdk", descriptor((size // 512, disk + "-flat.vmdk"),
                                                      thin=thin))
        write_disk(home + "/" + disk + "-flat.vmdk", size,
                   [(4096, os.urandom(min(size - 4096, 65536)))])
    write(home + "/" + name + ".vmx", vmx(name, *[disk + ".vmdk" for disk in disks]))
    write(home + "/" + name + ".nvram", os.urandom(8684))
    for left in (".vmsd", ".vmxf", "-ctk.vmdk"):
        write(home + "/" + name + left, b"left")
    write(home + "/vmware.log", b"log")
    write(home + "/vmware-1.log", b"log")
    return home


def lock_name(path):
    """What a host calls its lock of a file."""
    return ".lck-" + os.stat(os.fsencode(path)).st_ino.to_bytes(8, "little").hex()
