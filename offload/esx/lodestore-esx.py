# SPDX-License-Identifier: Apache-2.0
"""Clone a virtual machine that is switched off, its disks on the server.

    python3 lodestore-esx.py clone /vmfs/volumes/lab/tmpl /vmfs/volumes/lab/vm7

Runs in the shell of an ESXi host, or on Linux, where the datastore is mounted from a lodestore
server. Python 3.5 or newer, nothing else. docs/esxi.md tells what becomes of each file and setting.

What always holds:

- The old machine is only read.
- The new .vmx appears last, in one step, when all that it names is on the disk: a clone that was
  interrupted has none. Its directory has a note (NOTE) of whose clone it is; the same command again
  takes it over and goes on from there.
- A clone that failed takes away what it made.

The order of this file: text files (pure), descriptors, .vmx files, where the datastore lies, locks,
the server, the plan, the work, the command line. Text is str made of UTF-8 with surrogateescape, so
that any name survives; system calls get bytes of it.
"""

import argparse
import csv
import json
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time

EXIT_FAILED, EXIT_USAGE, EXIT_IN_USE, EXIT_AGAIN = 1, 2, 3, 4
NFS_PORT = 2049
SECTOR_BYTES = 512
VMX_BYTES_MAX = 4 << 20
DESCRIPTOR_BYTES_MAX = 256 << 10
NAME_CHARACTERS_MAX = 80  # what ESXi takes as a machine's name
NAME_BYTES_MAX = 200
VOLUMES = "/vmfs/volumes"
NOTE = ".lodestore-clone"


class Failure(Exception):
    """What went wrong, as the user reads it; the exit status that says it."""

    def __init__(self, text, status=EXIT_FAILED):
        Exception.__init__(self, text)
        self.status = status


class Interrupted(Exception):
    """SIGINT or SIGTERM."""


def to_bytes(text):
    return text.encode("utf-8", "surrogateescape")


def to_text(raw):
    return raw.decode("utf-8", "surrogateescape")


# ---- text files: lines "key = value", of which only those that change are written anew ----

SETTING = re.compile(r'\s*([^\s="#]+)(\s*=\s*)(?:"([^"]*)"|([^\s"#]*))\s*(?:#.*)?$')
BARE_ENDS = re.compile(r'[\s"#]')  # where a value without quotes does


class Settings:
    """A .vmx or a descriptor. Keys are compared without regard to case, as ESXi does."""

    def __init__(self, raw, what, other_lines=None):
        text = to_text(raw)
        self.raw, self.what = raw, what
        self.eol = "\r\n" if "\r\n" in text else "\n"
        self.lines = re.split("\r?\n", text[1:] if text.startswith("\ufeff") else text)
        self.places = {}
        if "\0" in text:
            raise Failure("%s is not a text file" % what)
        for place, line in enumerate(self.lines):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if other_lines and other_lines.match(line):
                continue
            self._note(place, line)
        encoding = self.get("encoding", self.get(".encoding", "UTF-8"))
        if encoding.upper().replace("-", "") != "UTF8" and not _is_ascii(text):
            raise Failure("%s is written in %s; only UTF-8 can be cloned. Save its settings once"
                          " in the host client, which writes it in UTF-8" % (what, encoding))

    def _note(self, place, line):
        found = SETTING.match(line)
        if not found:
            raise Failure('%s, line %d: expected key = "value"' % (self.what, place + 1))
        key = found.group(1).lower()
        if key in self.places:
            raise Failure("%s, line %d: %s stands there twice; remove one"
                          % (self.what, place + 1, found.group(1)))
        self.places[key] = place

    def keys(self):
        return sorted(self.places, key=self.places.get)

    def get(self, key, default=""):
        place = self.places.get(key.lower())
        if place is None:
            return default
        found = SETTING.match(self.lines[place])
        return found.group(3) if found.group(3) is not None else found.group(4)

    def is_true(self, key):
        return self.get(key).upper() == "TRUE"

    def set(self, key, value):
        """In its place, with quotes if it has some or the value needs them; or as a new last
        line."""
        place = self.places.get(key.lower())
        if place is None:
            while self.lines and not (self.lines[-1] or "").strip():
                self.lines.pop()
            self.places[key.lower()] = len(self.lines)
            self.lines += ['%s = "%s"' % (key, value), ""]
            return
        found = SETTING.match(self.lines[place])
        is_bare = found.group(3) is None and not BARE_ENDS.search(value)
        form = "%s%s%s" if is_bare else '%s%s"%s"'
        self.lines[place] = form % (found.group(1), found.group(2), value)

    def remove(self, key):
        place = self.places.pop(key.lower(), None)
        if place is not None:
            self.lines[place] = None

    def declare_utf8(self, key):
        """Say what it is written in, where that matters: as its first setting."""
        if self.get(key):
            self.set(key, "UTF-8")
        elif self.places and not _is_ascii("".join(line or "" for line in self.lines)):
            first = min(self.places.values())
            self.lines[first] = '%s = "UTF-8"%s%s' % (key, self.eol, self.lines[first])

    def to_bytes(self):
        return to_bytes(self.eol.join(line for line in self.lines if line is not None))


def _is_ascii(text):
    return all(ord(character) < 128 for character in text)


def unescape(value):
    """A value of a .vmx: |22 is the character with that number."""
    return re.sub(r"\|([0-9A-Fa-f]{2})", lambda found: chr(int(found.group(1), 16)), value)


def escape(value):
    return re.sub(r'[|"#\x00-\x1f]', lambda found: "|%02X" % ord(found.group(0)), value)


# ---- descriptors: the small .vmdk that says where a disk's data is ----

EXTENT = re.compile(r'\s*(RW|RDONLY|NOACCESS)\s+(\d+)\s+([A-Za-z]+)(?:\s+"([^"]*)"(?:\s+(\d+))?)?'
                    r'\s*$')
EXTENT_LINE = re.compile(r"\s*(RW|RDONLY|NOACCESS)\s")
NO_PARENT = "ffffffff"
FLAT_TYPES = ("vmfs", "monolithicflat", "twogbmaxextentflat")
SNAPSHOT_TYPES = ("vmfssparse", "sesparse", "vsansparse")
HOSTED_TYPES = ("monolithicsparse", "twogbmaxextentsparse", "streamoptimized")
RAW_TYPES = ("vmfsrdm", "vmfsrawdevicemap", "vmfspassthroughrawdevicemap", "fulldevice",
             "partitioneddevice")
SNAPSHOT_HINT = ("%s belongs to a snapshot. Delete all snapshots of the machine (Snapshots, Delete"
                 " all; or vim-cmd vmsvc/snapshot.removeall ID), then clone it")
CONVERT_HINT = '%s is %s. Convert it with vmkfstools -i "%s" NEW.vmdk -d thin, then clone that'


class Extent:
    """One file of a disk, as its descriptor names it; name is "" for a run of zeros."""

    def __init__(self, place, found):
        self.place = place  # which line
        self.access, self.kind = found.group(1), found.group(3)
        self.sectors = int(found.group(2))
        self.name = found.group(4) or ""
        self.offset_sectors = int(found.group(5) or 0)
        self.offset = found.group(5)

    def bytes(self):
        return (self.offset_sectors + self.sectors) * SECTOR_BYTES

    def line(self, name):
        return '%s %d %s "%s"%s' % (self.access, self.sectors, self.kind, name,
                                    " " + self.offset if self.offset else "")


class Descriptor(Settings):
    """A descriptor of a disk that can be cloned: flat, whole, of this machine alone."""

    def __init__(self, raw, what):
        if raw[:4] in (b"KDMV", b"COWD"):
            raise Failure(CONVERT_HINT % (what, "a sparse disk of another VMware product", what))
        if len(raw) > DESCRIPTOR_BYTES_MAX or b"\0" in raw:
            raise Failure("%s is no disk descriptor but data: the machine must name the small"
                          " .vmdk file, not the -flat.vmdk" % what)
        Settings.__init__(self, raw, what, EXTENT_LINE)
        if not self.get("createType") or not self.get("CID"):
            raise Failure("%s is no disk descriptor: it has no createType or no CID" % what)
        self._check_type()
        self.extents = [self._extent(place, line) for place, line in enumerate(self.lines)
                        if EXTENT_LINE.match(line)]
        if not any(extent.name for extent in self.extents):
            raise Failure("%s names no file with the disk's data" % what)

    def _check_type(self):
        kind = self.get("createType").lower()
        if (kind in SNAPSHOT_TYPES or self.get("parentFileNameHint")
                or self.get("parentCID", NO_PARENT).lower() != NO_PARENT
                or self.get("isNativeSnapshot", "no").lower() == "yes"):
            raise Failure(SNAPSHOT_HINT % self.what)
        if kind in RAW_TYPES:
            raise Failure("%s maps a raw device (RDM), which is no file. Remove it from the"
                          " machine, clone, and add it again" % self.what)
        if kind in HOSTED_TYPES:
            raise Failure(CONVERT_HINT % (self.what, "a sparse disk of another VMware product",
                                          self.what))
        if kind not in FLAT_TYPES:
            raise Failure(CONVERT_HINT % (self.what, "of a type this does not know, "
                                          + self.get("createType"), self.what))
        for key in ("ddb.iofilters", "ddb.sidecars"):
            if self.get(key):
                raise Failure("%s has an I/O filter (%s), whose state cannot be cloned. Detach its"
                              " storage policy first" % (self.what, key))

    def _extent(self, place, line):
        found = EXTENT.match(line)
        if not found:
            raise Failure("%s, line %d: not an extent that can be read" % (self.what, place + 1))
        extent = Extent(place, found)
        if extent.kind.upper() not in ("FLAT", "VMFS", "ZERO") or \
                bool(extent.name) == (extent.kind.upper() == "ZERO"):
            raise Failure("%s, line %d: an extent of kind %s cannot be cloned"
                          % (self.what, place + 1, extent.kind))
        return extent

    def files(self):
        return [extent for extent in self.extents if extent.name]

    def rename(self, names, random_bytes, thin):
        """Make it the clone's: a file name for each of files(), and 28 random bytes."""
        new_id = content_id(random_bytes[:4])
        for extent, name in zip(self.files(), names):
            self.lines[extent.place] = extent.line(name)
        self.set("CID", new_id)
        if self.get("ddb.longContentID"):  # ends with the CID
            self.set("ddb.longContentID", random_bytes[4:16].hex() + new_id)
        self.set("ddb.uuid", disk_uuid(random_bytes[12:28]))
        self.remove("changeTrackPath")
        if thin:
            self.set("ddb.thinProvisioned", "1")
        else:
            self.remove("ddb.thinProvisioned")
        self.declare_utf8("encoding")


def content_id(random_bytes):
    """Not one of the two that mean "no parent" and "never written"."""
    number = struct.unpack(">I", random_bytes)[0]
    return "%08x" % (number if number < 0xFFFFFFFE else number - 0x10000000)


def disk_uuid(random_bytes):
    """A SCSI name in VMware's own range: 6, 000C29 (its company number), the rest at random."""
    digits = ["%02x" % part for part in bytearray(random_bytes)]
    digits[:4] = ["60", "00", "C2", "9" + digits[3][1]]
    return " ".join(digits[:8]) + "-" + " ".join(digits[8:])


# ---- .vmx files: the machine ----

DISK_SLOT = re.compile(r"((?:scsi|sata|ide|nvme)\d+:\d+)\.filename$")
FLOPPY_SLOT = re.compile(r"(floppy\d+)\.filename$")
IS_CD = re.compile("cdrom|atapi", re.I)

# What is the old machine's alone. ESXi makes it again when the clone is registered or switched on.
DROPPED = [re.compile(pattern + "$") for pattern in (
    r"uuid\.bios", r"uuid\.location", r"vc\.uuid", r"viv\.moid",
    r"vm\.genid", r"vm\.genidx",
    r"ethernet\d+\.generatedaddress(offset)?",
    r"vmci\d+\.id", r"scsi\d+\.saswwid",
    r"sched\.swap\.derivedname", r"migrate\.hostlog(state)?", r"migrate\.migrationid",
    r"checkpoint\.vmstate", r"workingdir",
    r"(.*\.)?ctkenabled",
)]


def is_dropped(key):
    return any(pattern.match(key) for pattern in DROPPED)


def check_vmx(vmx):
    """Refuse a machine that cannot be cloned file by file."""
    for key in vmx.keys():
        if key.startswith("encryption."):
            raise Failure("%s is encrypted (or has a virtual TPM): its keys belong to it alone."
                          " Decrypt it first, or clone it in vCenter" % vmx.what)
        if key.endswith(".redo") and vmx.get(key):
            raise Failure("%s has a redo log in use (%s). Switch the machine off"
                          % (vmx.what, vmx.get(key)))
    if not vmx.get("config.version"):
        raise Failure("%s describes no machine: it has no config.version" % vmx.what)
    if vmx.get("checkpoint.vmState"):
        raise Failure("%s is suspended. Switch it on, and shut it down" % vmx.what, EXIT_IN_USE)


def disk_files(vmx):
    """(key, file name) of each hard disk that is present, in the order of the file."""
    return [(key, unescape(vmx.get(key))) for key, slot in _slots(vmx, DISK_SLOT)
            if vmx.is_true(slot + ".present") and _is_disk(vmx, slot)]


def _slots(vmx, pattern):
    found = [(key, pattern.match(key)) for key in vmx.keys()]
    return [(key, match.group(1)) for key, match in found if match]


def _is_disk(vmx, slot):
    kind = vmx.get(slot + ".deviceType")
    if kind:
        return "disk" in kind.lower()
    return vmx.get(slot + ".fileName").lower().endswith(".vmdk")


def own_files(vmx):
    """(key, file name) of what else in the machine's directory it cannot do without."""
    files = []
    if vmx.get("nvram"):
        files.append(("nvram", unescape(vmx.get("nvram"))))
    images = [(key, slot) for key, slot in _slots(vmx, DISK_SLOT)
              if IS_CD.match(vmx.get(slot + ".deviceType"))
              and vmx.get(slot + ".deviceType").lower() == "cdrom-image"]
    images += [(key, slot) for key, slot in _slots(vmx, FLOPPY_SLOT)
               if vmx.get(slot + ".fileType", "file").lower() == "file"]
    for key, slot in images:
        name = unescape(vmx.get(key))
        if vmx.is_true(slot + ".present") and name and not name.startswith("/"):
            files.append((key, name))
    return files


def rewrite_vmx(vmx, name, files, keep_mac):
    """Make it the clone's; files: {key: new file name}. Returns remarks for the user."""
    remarks = []
    for key in vmx.keys():
        if is_dropped(key):
            vmx.remove(key)
    _remove_absent(vmx)
    for key, file_name in sorted(files.items()):
        vmx.set(key, escape(file_name))
    vmx.set("displayName", escape(name))
    for key, suffix in (("extendedConfigFile", ".vmxf"), ("vmxstats.filename", ".scoreboard")):
        if vmx.get(key):
            vmx.set(key, escape(name + suffix))
    vmx.set("uuid.action", "create")
    for key in vmx.keys():
        match = re.match(r"(ethernet\d+)\.present$", key)
        if match and vmx.is_true(key):
            remarks += _rewrite_network(vmx, match.group(1), keep_mac)
    vmx.declare_utf8(".encoding")
    return remarks


def _remove_absent(vmx):
    """A disk that is not present would still name the old machine's file."""
    for key, slot in _slots(vmx, DISK_SLOT):
        if not vmx.is_true(slot + ".present") and _is_disk(vmx, slot):
            vmx.remove(key)


def _rewrite_network(vmx, card, keep_mac):
    remarks = []
    kind = vmx.get(card + ".addressType").lower()
    if kind == "static" and keep_mac:
        remarks.append("%s keeps its static address %s, which the old machine has too"
                       % (card, vmx.get(card + ".address")))
    elif kind:
        if kind == "static":
            remarks.append("%s had the static address %s; the clone gets a generated one"
                           " (--keep-mac keeps it)" % (card, vmx.get(card + ".address")))
        vmx.set(card + ".addressType", "generated")
        vmx.remove(card + ".address")
    if vmx.get(card + ".dvs.portId"):
        remarks.append("%s is on a distributed switch, at the old machine's port: choose its port"
                       " group again" % card)
    return remarks


# ---- the clone's file names ----

class Names:
    """Each once in the clone's directory, without regard to case."""

    def __init__(self, old_stem, new_stem):
        self.old, self.new = old_stem, new_stem
        self.taken = {(new_stem + suffix).lower() for suffix in (".vmx", ".vmxf", ".vmsd")}

    def _take(self, names):
        if any(name.lower() in self.taken for name in names):
            return False
        self.taken.update(name.lower() for name in names)
        return True

    def stem(self, old):
        """The old machine's name in front becomes the new one's: tmpl_1 to vm7_1."""
        rest = old[len(self.old):]
        return self.new + rest if old.startswith(self.old) and rest[:1] in ("", "_", "-") else old

    def disk(self, old_path, extent_count):
        """The descriptor's name and those of its extents."""
        old = os.path.basename(old_path)
        first = self.stem(old[:-5] if old.lower().endswith(".vmdk") else old)
        for number in range(1, 1000):
            stem = first if number == 1 else "%s_%d" % (first, number)
            extents = ["%s-f%03d.vmdk" % (stem, i + 1) for i in range(extent_count)]
            if extent_count == 1:
                extents = [stem + "-flat.vmdk"]
            if self._take([stem + ".vmdk"] + extents):
                return stem + ".vmdk", extents
        raise Failure("too many disks are called %s" % old)

    def file(self, old_path):
        stem, suffix = os.path.splitext(os.path.basename(old_path))
        first = self.stem(stem)
        for number in range(1, 1000):
            name = (first if number == 1 else "%s_%d" % (first, number)) + suffix
            if self._take([name]):
                return name
        raise Failure("too many files are called %s" % os.path.basename(old_path))


def check_name(name):
    if (not name or name.startswith(".") or re.search(r'[/\\"|\x00-\x1f]', name)
            or name != name.strip() or len(name) > NAME_CHARACTERS_MAX
            or len(to_bytes(name)) > NAME_BYTES_MAX):
        raise Failure("'%s' cannot be a machine's name here: 1 to %d characters, no / \\ \" or |,"
                      " no dot in front, no blanks at its ends" % (name, NAME_CHARACTERS_MAX),
                      EXIT_USAGE)


# ---- where the datastore lies ----

class Datastore:
    """root: where this host sees it; share: what the server calls the same directory."""

    def __init__(self, root, share, host, port=NFS_PORT, names=()):
        self.root, self.share = root.rstrip("/") or "/", "/" + share.strip("/")
        self.host, self.port = host, port
        self.names = list(names)  # below /vmfs/volumes; the first is shown

    def below(self, path):
        """What is left of a real path below root; None if it lies elsewhere."""
        root = self.root.rstrip("/")
        return path[len(root):] if path == self.root or path.startswith(root + "/") else None

    def remote(self, path):
        """What the server calls a real path."""
        return (self.share.rstrip("/") + self.below(path)) or "/"

    def find(self, name, folder, what):
        """The real path of a file that a text file in folder names."""
        if name.startswith(VOLUMES + "/"):
            volume, _, rest = name[len(VOLUMES) + 1:].partition("/")
            if volume in self.names:
                name = self.root + "/" + rest
        path = os.path.join(folder, name)
        path = os.path.join(real_path(os.path.dirname(path)), os.path.basename(path))
        if self.below(path) is None:
            raise Failure("%s names %s, which is not on this datastore (%s). The server can only"
                          " clone what it has: move the disk here. If it is the same datastore by"
                          " another name, say --datastore NAME" % (what, name, self.root))
        return path

    def shown(self, path):
        """As a host knows it."""
        return VOLUMES + "/" + (self.names[0] if self.names else "DATASTORE") + self.below(path)


def real_path(path):
    return to_text(os.path.realpath(to_bytes(path)))


def split_server(text):
    """HOST, HOST:PORT, [ADDRESS]:PORT or an IPv6 address."""
    match = re.match(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?$", text)
    if match:
        port = int(match.group(3) or NFS_PORT)
        if 0 < port < 65536:
            return match.group(1) or match.group(2), port
    elif re.match(r"[0-9A-Fa-f.]*(:[0-9A-Fa-f.]*){2,}$", text):
        return text, NFS_PORT
    raise Failure("--server %s: expected HOST or HOST:PORT" % text, EXIT_USAGE)


def parse_nfs_list(text):
    """(name, host, share) of each line of esxcli --formatter=csv storage nfs list."""
    rows = []
    for row in csv.DictReader(text.splitlines()):
        row = {(key or "").replace(" ", "").lower(): value for key, value in row.items()}
        if row.get("volumename") and row.get("host") and row.get("share"):
            rows.append((row["volumename"], row["host"], row["share"]))
    return rows


def parse_mounts(text):
    """(mount point, host, share, port) of each NFS mount in /proc/mounts."""
    mounts = []
    for line in text.splitlines():
        fields = [re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), field)
                  for field in line.split(" ")]
        if len(fields) < 4 or fields[2] not in ("nfs", "nfs4") or ":/" not in fields[0]:
            continue
        host, _, share = fields[0].partition(":/")
        port = re.search(r"(?:^|,)port=(\d+)", fields[3])
        mounts.append((fields[1], host.strip("[]"), "/" + share,
                       int(port.group(1)) if port and int(port.group(1)) else NFS_PORT))
    return mounts


def _find_esxi(path):
    command = ["esxcli", "--formatter=csv", "storage", "nfs", "list"]
    try:
        text = to_text(subprocess.check_output(command, stderr=subprocess.STDOUT))
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure("cannot ask this host for its datastores (%s: %s). Say --server HOST,"
                      " --export PATH and --mount DIR" % (" ".join(command), error))
    for name, host, share in parse_nfs_list(text):
        root = real_path(VOLUMES + "/" + name)
        store = Datastore(root, share, host, NFS_PORT, [name, os.path.basename(root)])
        if store.below(path) is not None:
            return store
    return None


def _find_linux(path):
    with open("/proc/mounts", "rb") as opened:
        mounts = parse_mounts(to_text(opened.read()))
    stores = [Datastore(point, share, host, port) for point, host, share, port in mounts]
    stores = [store for store in stores if store.below(path) is not None]
    return max(stores, key=lambda store: len(store.root)) if stores else None


def find_datastore(path, args):
    """The one that path, a real path, lies on."""
    if args.export:
        if not args.server:
            raise Failure("--export needs --server too", EXIT_USAGE)
        store = Datastore(real_path(args.mount or args.export), args.export, "")
        if store.below(path) is None:
            raise Failure("%s does not lie below %s: say where this host sees the export, with"
                          " --mount DIR" % (path, store.root), EXIT_USAGE)
    elif os.uname().sysname == "VMkernel" or path.startswith(VOLUMES + "/"):
        store = _find_esxi(path)
    else:
        store = _find_linux(path)
    if store is None:
        raise Failure("%s is on no NFS datastore of this host. If it is mounted in another way, say"
                      " --server HOST, --export PATH and --mount DIR" % path)
    if args.server:
        store.host, store.port = split_server(args.server)
    store.names = list(args.datastore) + store.names
    return store


# ---- locks: a host that runs a machine refreshes .lck-ID beside each of its files ----

LOCK = re.compile(r"\.lck-([0-9a-fA-F]{16})$")
LOCK_STALE_S = 35  # it is refreshed every 10 s
LOCK_WATCH_S = 40
LOCK_LOOK_S = 2


def lock_file_id(name):
    """The file id that a lock is named for: 16 digits, the lowest byte first."""
    match = LOCK.match(name)
    return struct.unpack("<Q", bytes.fromhex(match.group(1)))[0] if match else None


def list_names(folder):
    return sorted(to_text(name) for name in os.listdir(to_bytes(folder)))


def find_locks(folder, files):
    """Paths of the locks in folder that concern us: all but those of other files than files."""
    names = list_names(folder)
    locks = [name for name in names if LOCK.match(name)]
    if not locks:
        return []
    others = set()
    for name in names:
        path = os.path.join(folder, name)
        if path not in files and not LOCK.match(name) and is_there(path):
            others.add(os.lstat(to_bytes(path)).st_ino)
    return [os.path.join(folder, name) for name in locks if lock_file_id(name) not in others]


def look_at_lock(path):
    """What changes when a host refreshes it; None if it is gone. Opened: so NFS asks the server."""
    try:
        with open(to_bytes(path), "rb") as opened:
            return os.fstat(opened.fileno()).st_mtime, opened.read(4096)
    except FileNotFoundError:
        return None


def refreshed_lock(locks, watch_s):
    """Watch locks: the first that changes, None if none does. No clock but ours is asked."""
    first, end = {lock: look_at_lock(lock) for lock in locks}, time.monotonic() + watch_s
    while locks and time.monotonic() < end:
        time.sleep(LOCK_LOOK_S)
        for lock in locks:
            now = look_at_lock(lock)
            if now is not None and now != first[lock]:
                return lock
    return None


def signs_of_life(vmx, folder):
    """What a machine that was shut down in order does not leave."""
    signs = [name for name in list_names(folder)
             if name.lower().endswith((".vswp", ".vmx~", ".vmx.lck", ".vmtx~", ".vmtx.lck"))]
    if vmx.get("cleanShutdown", "TRUE").upper() == "FALSE":
        signs.append('cleanShutdown = "FALSE" in ' + os.path.basename(vmx.what))
    return signs


def find_all_locks(plan):
    locks = []
    for folder in plan.folders():
        files = plan.sources()
        if folder == plan.folder:
            files = [os.path.join(folder, name) for name in list_names(folder)]
        locks += find_locks(folder, files)
    return locks


def fresh_lock(locks):
    """One that was refreshed just now, if the server's clock goes as ours."""
    for lock in locks:
        seen = look_at_lock(lock)
        if seen and abs(time.time() - seen[0]) < LOCK_STALE_S:
            return lock
    return None


def check_not_running(plan, ignore_stale):
    """Refuse if a host has the machine, or may have."""
    locks = find_all_locks(plan)
    live = fresh_lock(locks) or (refreshed_lock(locks, LOCK_WATCH_S) if ignore_stale else None)
    if live:
        raise Failure("the machine runs: a host refreshes its lock %s. Shut it down first" % live,
                      EXIT_IN_USE)
    signs = [os.path.basename(lock) for lock in locks] + signs_of_life(plan.vmx, plan.folder)
    if signs and not ignore_stale:
        raise Failure("the machine runs, or its host failed: %s has %s. Shut it down. If no host"
                      " runs it, switch it on and shut it down; or give --ignore-stale, and the"
                      " clone is as after a power cut" % (plan.folder, ", ".join(signs)),
                      EXIT_IN_USE)


# ---- the server: rpcgen/offload.x, program 0x20004c53, over TCP ----

PROGRAM, VERSION = 0x20004C53, 1
SUPPORT, CLONE, RESERVE, STAT, CANCEL, WAIT = 1, 2, 3, 4, 9, 10
QUEUED, RUNNING, COMPLETE, FAILED, CANCELLED = range(5)
CAN_FAST_CLONE = 2
CLONE_VERIFY = 2
STATUS_NO_JOB, STATUS_TOO_MANY, STATUS_UNAVAILABLE = 17, 18, 20
WHICH_ID, WHICH_FILE = 0, 1
FILE_PATH = 1
ANSWER_S = 15  # beyond the wait that a call asks for
STEP_WAIT_S = 2
CANCEL_WAIT_S = 20
REPLY_BYTES_MAX = 1 << 20


class Refused(Failure):
    """The server said no."""

    def __init__(self, offload_status, text):
        Failure.__init__(self, "the server refuses: " + text)
        self.offload_status = offload_status


class Unreachable(Exception):
    """No answer, or one that is cut short."""


def xdr_opaque(raw):
    return struct.pack(">I", len(raw)) + raw + bytes(-len(raw) % 4)


def xdr_file(path):
    return struct.pack(">I", FILE_PATH) + xdr_opaque(to_bytes(path))


class Reader:
    """Takes a result apart."""

    def __init__(self, raw):
        self.raw, self.at = raw, 0

    def take(self, count):
        part = self.raw[self.at:self.at + count]
        if len(part) < count:
            raise Unreachable("its answer is cut short")
        self.at += count
        return part

    def u32(self):
        return struct.unpack(">I", self.take(4))[0]

    def u64(self):
        return struct.unpack(">Q", self.take(8))[0]

    def text(self):
        count = self.u32()
        raw = self.take(count)
        self.take(-count % 4)
        return raw.decode("utf-8", "replace")


class Job:
    """What is read of an offload_job."""

    def __init__(self, reader):
        self.id = reader.u64()
        reader.take(4)  # kind
        self.state, self.status = reader.u32(), reader.u32()
        reader.take(4)  # flags
        self.engine = reader.text()
        self.bytes_done, self.bytes_total = reader.u64(), reader.u64()
        reader.take(8)  # bytes_moved
        self.rate = reader.u64()
        reader.take(24)  # times
        has_checksum = reader.u32()
        checksum = reader.take(16).hex()
        self.checksum = checksum if has_checksum else None
        self.text = reader.text()


class Server:
    """One connection, made when it is needed and made again when it broke."""

    def __init__(self, host, port):
        self.host, self.port = host, port
        self.name = "%s:%d" % ("[%s]" % host if ":" in host else host, port)
        self.socket, self.xid = None, os.getpid() << 8 & 0xFFFFFFFF

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def call(self, procedure, args, read, wait_s=0):
        """What read makes of the result, behind its offload_status; Refused if that is not OK."""
        try:
            reader = self._exchange(procedure, args, wait_s)
            status = reader.u32()
            if status == 0:
                return read(reader)
            text = reader.text()
        except (OSError, Unreachable) as error:
            self.close()
            raise Unreachable("%s does not answer: %s" % (self.name, error))
        raise Refused(status, text)

    def _exchange(self, procedure, args, wait_s):
        if not self.socket:
            self.socket = socket.create_connection((self.host, self.port), ANSWER_S)
        self.socket.settimeout(ANSWER_S + wait_s)
        self.xid = self.xid + 1 & 0xFFFFFFFF
        groups = os.getgroups()[:16]
        cred = struct.pack(">I", 0) + xdr_opaque(b"lodestore-esx") + \
            struct.pack(">III", os.geteuid(), os.getegid(), len(groups)) + \
            b"".join(struct.pack(">I", group) for group in groups)
        call = struct.pack(">IIIIII", self.xid, 0, 2, PROGRAM, VERSION, procedure) + \
            struct.pack(">I", 1) + xdr_opaque(cred) + bytes(8) + args
        self.socket.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
        return self._reply()

    def _reply(self):
        reply, is_last = b"", False
        while not is_last:
            mark = struct.unpack(">I", self._receive(4))[0]
            is_last = mark >> 31
            if len(reply) + (mark & 0x7FFFFFFF) > REPLY_BYTES_MAX:
                raise Unreachable("what it says is not an answer")
            reply += self._receive(mark & 0x7FFFFFFF)
        reader = Reader(reply)
        if reader.u32() != self.xid or reader.u32() != 1:
            raise Unreachable("what it says is not the answer")
        if reader.u32():
            raise Failure("%s does not let this host or user call it: see its exports" % self.name)
        reader.take(4)
        reader.text()  # the verifier
        accept = reader.u32()
        if accept:
            raise Failure("%s serves no offload program (RPC says %d): it is not lodestore, or a"
                          " version without it" % (self.name, accept))
        return reader

    def _receive(self, count):
        raw = b""
        while len(raw) < count:
            part = self.socket.recv(min(count - len(raw), 1 << 16))
            if not part:
                raise Unreachable("it closed the connection")
            raw += part
        return raw


class Patience:
    """Goes on asking a server that is away, until it was away for too long."""

    def __init__(self, server, away_s, say):
        self.server, self.away_s, self.say = server, away_s, say
        self.since = None

    def call(self, procedure, args, read, wait_s=0):
        while True:
            try:
                result = self.server.call(procedure, args, read, wait_s)
                self.since = None
                return result
            except Unreachable as error:
                self._again(str(error))
            except Refused as refusal:
                if refusal.offload_status not in (STATUS_UNAVAILABLE, STATUS_TOO_MANY):
                    raise
                self._again(str(refusal))

    def _again(self, why):
        if self.since is None:
            self.since = time.monotonic()
            self.say("%s; trying again for %d s" % (why, self.away_s))
        if time.monotonic() - self.since >= self.away_s:
            raise Failure("%s. Nothing is lost: when the server is back, give the same command"
                          " again to go on" % why, EXIT_AGAIN)
        time.sleep(1)

    def job(self, procedure, args, what, progress):
        """Begin a job, or join it, and see it through. what: the file, for messages."""
        job = None
        while True:
            try:
                if job is None:
                    job = self.call(procedure, args + struct.pack(">I", STEP_WAIT_S), Job,
                                    STEP_WAIT_S)
                else:
                    job = self.call(WAIT, struct.pack(">IQI", WHICH_ID, job.id, STEP_WAIT_S), Job,
                                    STEP_WAIT_S)
            except Refused as refusal:
                if refusal.offload_status != STATUS_NO_JOB or job is None:
                    raise Failure("%s: %s" % (what, refusal))
                job = None  # it forgot: ask for it again
                continue
            if job.state == COMPLETE:
                return job
            if job.state in (FAILED, CANCELLED):
                raise Failure("%s: the server could not do it: %s"
                              % (what, job.text or "the job was cancelled"))
            progress(job)


# ---- the plan: what is cloned to what, before anything is made ----

def read_text_file(path, bytes_max):
    with open(to_bytes(path), "rb") as opened:
        raw = opened.read(bytes_max + 1)
    if len(raw) > bytes_max:
        raise Failure("%s is larger than any such file: %d bytes at most" % (path, bytes_max))
    return raw


def find_vmx(path):
    """The machine's .vmx (a template's .vmtx) in a directory, or the one that is named."""
    suffixes = (".vmx", ".vmtx")
    if path.lower().endswith(suffixes) and not os.path.isdir(to_bytes(path)):
        return path
    found = [name for name in list_names(path) if name.lower().endswith(suffixes)]
    if len(found) != 1:
        raise Failure("%s has %s. Name the .vmx file of the machine instead of its directory"
                      % (path, "several: " + ", ".join(found) if found else "no .vmx file"),
                      EXIT_USAGE)
    return os.path.join(path, found[0])


class Disk:
    """One hard disk: its descriptor, and (source path, new name, bytes) of each extent."""

    def __init__(self, path, descriptor, new_name, extents):
        self.path, self.descriptor, self.new_name = path, descriptor, new_name
        self.extents = extents


class Plan:
    """What would be done; made by reading only."""

    def __init__(self, vmx_path, new_folder, name, store):
        self.vmx_path, self.store, self.name = vmx_path, store, name
        self.folder, self.new_folder = os.path.dirname(vmx_path), new_folder
        self.vmx = Settings(read_text_file(vmx_path, VMX_BYTES_MAX), vmx_path)
        check_vmx(self.vmx)
        stem = os.path.splitext(os.path.basename(vmx_path))[0]
        self.names = Names(stem, name)
        self.disks, self.files = [], []  # files: (source path, new name)
        self.new_names = {}  # of the .vmx: key, file name
        for key, file_name in disk_files(self.vmx):
            self._add_disk(key, store.find(file_name, self.folder, vmx_path))
        for key, file_name in own_files(self.vmx):
            self._add_file(key, store.find(file_name, self.folder, vmx_path))

    def _add_disk(self, key, path):
        for disk in self.disks:
            if disk.path == path:
                self.new_names[key] = disk.new_name
                return
        descriptor = Descriptor(read_descriptor(path), path)
        files = descriptor.files()
        new_name, new_extents = self.names.disk(path, len(files))
        extents = []
        for extent, new_extent in zip(files, new_extents):
            source = self.store.find(extent.name, os.path.dirname(path), path)
            check_extent(source, extent, path)
            extents.append((source, new_extent, os.stat(to_bytes(source)).st_size))
        self.disks.append(Disk(path, descriptor, new_name, extents))
        self.new_names[key] = new_name

    def _add_file(self, key, path):
        """If it is not there: ESXi makes an nvram itself, and starts without an image."""
        name = self.names.file(path)
        if os.path.isfile(to_bytes(path)):
            self.files.append((path, name))
        if key == "nvram" or (path, name) in self.files:
            self.new_names[key] = name

    def new(self, name):
        return os.path.join(self.new_folder, name)

    def vmx_name(self):
        return self.name + ".vmx"

    def sources(self):
        return [disk.path for disk in self.disks] + [source for source, _ in self.clones()]

    def folders(self):
        return sorted({os.path.dirname(path) for path in self.sources() + [self.vmx_path]})

    def clones(self):
        """(source path, new name) of what the server clones."""
        return [(source, name) for disk in self.disks
                for source, name, _ in disk.extents] + self.files

    def made(self):
        """Names of all that a clone can leave when it is interrupted, the note last."""
        descriptors = [disk.new_name for disk in self.disks]
        written = descriptors + [self.vmx_name()]
        return [name for _, name in self.clones()] + written + \
            [temporary(name) for name in written + [NOTE]] + [NOTE]

    def bytes(self):
        return sum(extent[2] for disk in self.disks for extent in disk.extents)

    def remarks(self):
        found = []
        for name in list_names(self.folder):
            if re.search(r"-(delta|sesparse)\.vmdk$", name, re.I):
                found.append("%s belongs to a snapshot that the machine does not use: it is not"
                             " cloned" % name)
        for key in self.vmx.keys():
            if key.endswith(".sharing") and "multi" in self.vmx.get(key):
                found.append("%s is shared with other machines; the clone gets a copy for itself"
                             % key[:-len(".sharing")])
        return found


def read_descriptor(path):
    """Its beginning, if it is too long for one: Descriptor() says what it is instead."""
    with open(to_bytes(path), "rb") as opened:
        return opened.read(DESCRIPTOR_BYTES_MAX + 1)


def check_extent(source, extent, what):
    try:
        size = os.stat(to_bytes(source)).st_size
    except FileNotFoundError:
        raise Failure("%s names %s, which is not there" % (what, source))
    if size < extent.bytes():
        raise Failure("%s is shorter than its descriptor says: %d bytes of %d. The disk is damaged"
                      % (source, size, extent.bytes()))


# ---- the work ----

def temporary(name):
    return ".%s.part" % name


def write_file(path, raw, mode=0o600):
    """All of it under its name, on the disk, or nothing."""
    folder, name = os.path.split(path)
    part = os.path.join(folder, temporary(name))
    descriptor = os.open(to_bytes(part), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(raw)
        opened.flush()
        os.fsync(opened.fileno())
    os.rename(to_bytes(part), to_bytes(path))
    sync_folder(folder)


def sync_folder(folder):
    """Where that can be done: an NFS server has them on its disk anyhow."""
    try:
        descriptor = os.open(to_bytes(folder), os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def mode_of(path):
    return os.stat(to_bytes(path)).st_mode & 0o777


def is_there(path):
    return os.path.lexists(to_bytes(path))


def check_new_folder(plan, note):
    """It is there: only what the same command left may be taken over."""
    if not os.path.isdir(to_bytes(plan.new_folder)):
        raise Failure("%s is there and no directory" % plan.new_folder)
    if not is_there(plan.new(NOTE)):
        if set(list_names(plan.new_folder)) - {temporary(NOTE)}:
            raise Failure("%s is there already: choose another directory" % plan.new_folder)
    elif read_note(plan)[:2] != note[:2]:
        raise Failure("%s is an unfinished clone of another machine or name: remove it, or choose"
                      " another directory" % plan.new_folder)


def read_note(plan):
    """[the old .vmx, the clone's name, whose turn it is]; an empty list if it is no such note."""
    try:
        note = json.loads(to_text(read_text_file(plan.new(NOTE), VMX_BYTES_MAX)))
    except (FileNotFoundError, ValueError):
        return []
    return note if isinstance(note, list) else []


class Clone:
    """Carries out a plan. self.results: what --json tells of each file."""

    def __init__(self, plan, patience, args, show):
        self.plan, self.patience, self.args, self.show = plan, patience, args, show
        self.results = []
        self.note = [plan.vmx_path, plan.name, os.urandom(8).hex()]

    # - the new directory -

    def open_folder(self):
        """Make it, or take over what the same command left."""
        plan = self.plan
        try:
            os.mkdir(to_bytes(plan.new_folder), mode_of(plan.folder))
        except FileExistsError:
            check_new_folder(plan, self.note)
            if is_there(plan.new(NOTE)):
                self.show.say("%s was begun before: going on" % plan.new_folder)

    def check_turn(self):
        """Nothing may be written to a clone that another run has taken over, and perhaps ended."""
        if read_note(self.plan) != self.note:
            raise Failure("another lodestore-esx.py has taken over %s: this one stops"
                          % self.plan.new_folder, EXIT_AGAIN)

    # - disks -

    def clone_files(self):
        flags = CLONE_VERIFY if self.args.verify else 0
        for source, name in self.plan.clones():
            self.check_turn()
            args = xdr_file(self.plan.store.remote(source)) + \
                xdr_file(self.remote(name)) + struct.pack(">I", flags)
            began = time.monotonic()
            job = self.patience.job(CLONE, args, self.plan.new(name), self.show.progress(name))
            self.check_size(source, name)
            self.results.append({
                "source": source, "destination": self.plan.new(name), "engine": job.engine,
                "bytes": job.bytes_total, "checksum": job.checksum,
                "seconds": round(time.monotonic() - began, 3)})
            self.show.done(name, job)

    def remote(self, name):
        return self.plan.store.remote(self.plan.new(name))

    def check_size(self, source, name):
        """Asked of the server: this host may have cached that the name is not there."""
        total = self.patience.call(STAT, xdr_file(self.remote(name)), Reader.u64)
        if total != os.stat(to_bytes(source)).st_size:
            raise Failure("%s is not as long as its source" % self.plan.new(name))

    def reserve(self):
        for disk in self.plan.disks:
            for _, name, _ in disk.extents:
                self.check_turn()
                self.patience.job(RESERVE, xdr_file(self.remote(name)) + struct.pack(">Q", 0),
                                  self.plan.new(name), self.show.progress(name + " (reserving)"))

    # - text files -

    def check_unchanged(self):
        for settings in [disk.descriptor for disk in self.plan.disks] + [self.plan.vmx]:
            if read_text_file(settings.what, VMX_BYTES_MAX) != settings.raw:
                raise Failure("%s changed while it was cloned" % settings.what, EXIT_IN_USE)

    def write_descriptors(self):
        for disk in self.plan.disks:
            disk.descriptor.rename([name for _, name, _ in disk.extents], os.urandom(28),
                                   not self.args.thick)
            write_file(self.plan.new(disk.new_name), disk.descriptor.to_bytes(),
                       mode_of(disk.path))

    def write_vmx(self):
        plan = self.plan
        remarks = rewrite_vmx(plan.vmx, plan.name, plan.new_names, self.args.keep_mac)
        write_file(plan.new(plan.vmx_name()), plan.vmx.to_bytes(), mode_of(plan.vmx_path))
        return remarks

    # - from the beginning to the end -

    def run(self):
        """Remarks for the user."""
        plan, remarks = self.plan, []
        self.open_folder()
        if is_there(plan.new(plan.vmx_name())):
            remarks.append("%s was whole already" % plan.new_folder)
        else:
            remarks += self.make()
        os.unlink(to_bytes(plan.new(NOTE)))
        return remarks

    def make(self):
        try:
            write_file(self.plan.new(NOTE), json.dumps(self.note).encode("ascii"))
            self.clone_files()
            if self.args.thick:
                self.reserve()
            check_not_running(self.plan, self.args.ignore_stale)
            self.check_unchanged()
            self.check_turn()
            self.write_descriptors()
            return self.write_vmx()
        except Failure as failure:
            if failure.status != EXIT_AGAIN:
                self.undo()
            raise
        except BaseException:
            self.undo()
            raise

    def undo(self):
        """Take away what was made, the running job first."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        self.show.say("taking away what was made in %s" % self.plan.new_folder)
        for _, name in self.plan.clones():
            self.cancel(name)
        for _ in range(10):  # a host may not see at once what the server made
            self.remove_files()
            try:
                os.rmdir(to_bytes(self.plan.new_folder))
                return
            except OSError as error:
                why = error.strerror
            time.sleep(0.5)
        self.show.say("could not remove %s (%s): remove it yourself" % (self.plan.new_folder, why))

    def remove_files(self):
        for name in self.plan.made():
            try:
                os.unlink(to_bytes(self.plan.new(name)))
            except OSError:
                pass

    def cancel(self, name):
        """The job whose destination it is, if one runs; and wait for its end."""
        which = struct.pack(">I", WHICH_FILE) + xdr_file(self.remote(name))
        server = self.patience.server
        try:
            job = server.call(CANCEL, which, Job, 1)
            if job.state in (QUEUED, RUNNING):
                server.call(WAIT, struct.pack(">IQI", WHICH_ID, job.id, CANCEL_WAIT_S), Job,
                            CANCEL_WAIT_S)
        except (Failure, Unreachable):
            pass  # no such job, or the server is away: the files are removed all the same


# ---- the command line ----

def size_text(count):
    for unit in ("B", "K", "M", "G"):
        if count < 1024:
            return "%.4g%s" % (count, unit)
        count /= 1024.0
    return "%.4gT" % count


class Show:
    """What the user sees meanwhile, on standard error; if anybody still looks there."""

    def __init__(self, is_quiet):
        self.is_quiet = is_quiet
        self.is_terminal = sys.stderr.isatty()
        self.said_at = 0

    def write(self, text):
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:  # the session is gone; the clone goes on
            sys.stderr = open(os.devnull, "w")

    def say(self, text):
        self.write("lodestore-esx: %s\n" % text)

    def progress(self, name):
        def show(job):
            every_s = 0 if self.is_terminal else 10
            if self.is_quiet or time.monotonic() - self.said_at < every_s:
                return
            self.said_at = time.monotonic()
            share = 100 * job.bytes_done // job.bytes_total if job.bytes_total else 0
            text = "waits for other jobs" if job.state == QUEUED else "%d%% of %s, %s/s (%s)" % (
                share, size_text(job.bytes_total), size_text(job.rate), job.engine)
            self.write("  %s: %s%s" % (name, text, "   \r" if self.is_terminal else "\n"))
        return show

    def done(self, name, job):
        if not self.is_quiet:
            self.write("  %s: %s (%s)%s\n" % (name, size_text(job.bytes_total), job.engine,
                                              " " * 20 if self.is_terminal else ""))


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="lodestore-esx.py", description="Clone a virtual machine that is switched off, its"
        " disks on the lodestore server. The guide is docs/esxi.md.",
        epilog="Exit status: 0 done; 1 failed, and nothing is left of the clone; 2 wrong usage;"
        " 3 the machine runs or may run; 4 the server did not answer: the same command again"
        " goes on.")
    commands = parser.add_subparsers(dest="command", metavar="clone")
    clone = commands.add_parser("clone", help="clone a machine's directory into a new one")
    clone.add_argument("source", metavar="VMDIR", help="the machine's directory, or its .vmx file")
    clone.add_argument("folder", metavar="NEWDIR",
                       help="the directory to make, on the same datastore")
    clone.add_argument("--name", help="the clone's name (NEWDIR's last part)")
    clone.add_argument("--dry-run", action="store_true", help="check all, show what would be done")
    clone.add_argument("--verify", action="store_true",
                       help="have the server read both and compare")
    clone.add_argument("--thick", action="store_true",
                       help="reserve all space of the clone's disks (takes as long as a copy)")
    clone.add_argument("--keep-mac", action="store_true", help="keep static MAC addresses")
    clone.add_argument("--ignore-stale", action="store_true", help="clone a machine that was not"
                       " shut down in order, if no host refreshes its locks")
    clone.add_argument("--json", action="store_true", help="print the result as JSON")
    clone.add_argument("--server", metavar="HOST[:PORT]", help="the server (as mounted, port 2049)")
    clone.add_argument("--export", metavar="PATH", help="the export's path (as mounted)")
    clone.add_argument("--mount", metavar="DIR", help="where this host sees it (--export's path)")
    clone.add_argument("--datastore", metavar="NAME", action="append", default=[],
                       help="what hosts call the datastore; may be given again for other names")
    clone.add_argument("--patience", metavar="SECONDS", type=int, default=120,
                       help="how long to wait for a server that is away (120)")
    args = parser.parse_args([to_text(os.fsencode(argument)) for argument in arguments])
    if not args.command:
        parser.error("say clone VMDIR NEWDIR")
    return args


def make_plan(args):
    vmx_path = real_path(find_vmx(real_path(args.source)))
    parent, last = os.path.split(os.path.normpath(args.folder))
    new_folder = os.path.join(real_path(parent or "."), last)
    if not os.path.isdir(to_bytes(os.path.dirname(new_folder))):
        raise Failure("%s is not there: make it first" % os.path.dirname(new_folder))
    name = args.name or last
    check_name(name)
    store = find_datastore(vmx_path, args)
    if store.below(new_folder) is None:
        raise Failure("%s is not on the machine's datastore (%s): the server clones within that"
                      % (new_folder, store.root))
    return Plan(vmx_path, new_folder, name, store)


def register_line(plan):
    return "vim-cmd solo/registervm " + shlex.quote(plan.store.shown(plan.new(plan.vmx_name())))


def outcome(plan, args, results, remarks):
    """What --json prints."""
    return {
        "name": plan.name, "vmx": plan.new(plan.vmx_name()), "server": plan.store.host,
        "register": register_line(plan), "dry_run": args.dry_run, "remarks": remarks,
        "files": results or [{"source": source, "destination": plan.new(name)}
                             for source, name in plan.clones()]}


def first_call(server, plan):
    """Whether blocks can be shared; or why nothing can be done."""
    try:
        can = server.call(SUPPORT, xdr_file(plan.store.remote(plan.folder)), Reader.u32)
    except Unreachable as error:
        raise Failure("%s. Is it up, is it lodestore, is that its port (--server HOST:PORT)?"
                      % error, EXIT_AGAIN)
    except Refused as refusal:
        if refusal.offload_status == STATUS_UNAVAILABLE:
            raise Failure("%s. Start lodestore-offloadd there" % refusal, EXIT_AGAIN)
        raise
    return bool(can & CAN_FAST_CLONE)


def foresee(plan, args, can_share):
    """Remarks that can be made before anything is done."""
    remarks = plan.remarks()
    if not can_share:
        remarks.append("the server's file system cannot share blocks: it copies, which takes time")
    if not args.thick:
        remarks += ["%s was thick; the clone's space is not reserved (--thick does it)" % disk.path
                    for disk in plan.disks
                    if disk.descriptor.get("ddb.thinProvisioned") != "1"]
    if not plan.store.names:
        remarks.append("put what your hosts call the datastore in place of DATASTORE, or say"
                       " --datastore NAME")
    return remarks


def print_plan(plan):
    for source, name in plan.clones():
        print("would clone %s to %s" % (source, plan.new(name)))
    for name in [disk.new_name for disk in plan.disks] + [plan.vmx_name()]:
        print("would write %s" % plan.new(name))


def clone_command(args, show):
    plan = make_plan(args)
    server = Server(plan.store.host, plan.store.port)
    work = Clone(plan, Patience(server, args.patience, show.say), args, show)
    began = time.monotonic()
    if is_there(plan.new_folder):
        check_new_folder(plan, work.note)
    check_not_running(plan, args.ignore_stale)
    remarks = foresee(plan, args, first_call(server, plan))
    if args.dry_run:
        remarks += rewrite_vmx(plan.vmx, plan.name, plan.new_names, args.keep_mac)
    else:
        remarks += work.run()
    server.close()
    for remark in remarks:
        show.say("note: " + remark)
    if args.json:
        print(json.dumps(outcome(plan, args, work.results, remarks), indent=1, sort_keys=True))
        return
    if args.dry_run:
        print_plan(plan)
    else:
        show.say("%s: %d disk(s), %s, in %.1f s. Register it on a host with:"
                 % (plan.name, len(plan.disks), size_text(plan.bytes()),
                    time.monotonic() - began))
    print(register_line(plan))


def interrupt(_number, _frame):
    raise Interrupted()


def main(arguments):
    for name in ("stdout", "stderr"):  # an ESXi shell has no locale: names come out as they are
        stream = getattr(sys, name)
        setattr(sys, name, open(stream.fileno(), "w", encoding="utf-8", errors="surrogateescape",
                                closefd=False))
    args = parse_arguments(arguments)
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    os.umask(0)  # a clone's files have their sources' modes
    show = Show(args.json)
    try:
        clone_command(args, show)
        return 0
    except Failure as failure:
        text, status = str(failure), failure.status
    except Interrupted:
        text, status = "interrupted", EXIT_FAILED
    except OSError as error:
        where = error.filename
        where = to_text(where) if isinstance(where, bytes) else where
        text = "%s: %s" % (where, error.strerror) if where else str(error)
        status = EXIT_FAILED
    if args.json:
        print(json.dumps({"error": text, "status": status}, indent=1, sort_keys=True))
    show.say(text)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
