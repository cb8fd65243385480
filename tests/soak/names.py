# SPDX-License-Identifier: Apache-2.0
"""A client that makes, moves and removes names, and holds every listing to what it did.

Changes of the namespace are durable when they are answered, so after any restart, a power cut
included, the folders must look as the model says. A call that was under way during a restart and
was sent again may find itself already done (NFS3ERR_EXIST, NFS3ERR_NOENT); one that was sent twice
to the same server may not: that is what reply caches are for.
"""
import nfs3
from hard import Fault

NAMES = 60
STEPS_BETWEEN_LISTINGS = 40
BREAK_OFF_SHARE = 0.04


class Names:
    """Two folders full of files, folders, links and symbolic links."""

    def __init__(self, number, client, root, chance, report):
        self._client = client
        self._chance = chance
        self._report = report
        self._root = root
        self._folder_name = b"names-%d" % number
        self._checked_in = None
        self._verifier = 0
        self.steps = 0
        self._models = [{}, {}]  # name -> (kind, detail)

    def prepare(self):
        self._top = self._client.ok("MKDIR", dir=self._root, name=self._folder_name,
                                    sattr=nfs3.Sattr(mode=0o755)).fh
        self._folders = [self._client.ok("MKDIR", dir=self._top, name=name,
                                         sattr=nfs3.Sattr(mode=0o755)).fh
                         for name in (b"one", b"two")]

    def step(self):
        now = self._client.life.now()
        if (now % 2 == 0 and now != self._checked_in) or self.steps % STEPS_BETWEEN_LISTINGS == 0:
            for side in (0, 1):
                self._list(side)
            self._checked_in = now
        side = self._chance.randrange(2)
        name = b"%d" % self._chance.randrange(NAMES) + b"-name" * self._chance.randrange(2)
        here = self._models[side].get(name)
        if here is None:
            self._make(side, name)
        elif self._chance.random() < 0.5:
            self._remove(side, name, here)
        elif here[0] != "dir":
            self._move(side, name)
        else:
            self._remove(side, name, here)
        self.steps += 1

    def _call(self, procedure, already_done, **arguments):
        """A change; `already_done` is the status that says it was done before a restart."""
        break_off = self._chance.random() < BREAK_OFF_SHARE
        batch = self._client.batch([(procedure, arguments)], break_off)
        reply = batch.replies[0]
        restarted = batch.resent and (batch.began != batch.ended or batch.began % 2)
        if reply.status == already_done and restarted:
            self._report.add("calls found done after a restart", 1)
            return reply
        if reply.status != nfs3.NFS3_OK:
            note = " (sent again over a new connection to the same server)" if batch.resent else ""
            raise Fault(f"{reply.call}: {reply}{note}; life {batch.began}")
        return reply

    def _make(self, side, name):
        folder = self._folders[side]
        kind = self._chance.choice(("file", "file", "exclusive", "dir", "symlink", "link"))
        others = [(s, n) for s in (0, 1) for n, (k, _) in self._models[s].items() if k == "file"]
        if kind == "link" and not others:
            kind = "file"
        if kind == "file":
            self._call("CREATE", nfs3.NFS3ERR_EXIST, dir=folder, name=name, how=nfs3.GUARDED,
                       sattr=nfs3.Sattr(mode=0o640))
        elif kind == "exclusive":
            self._verifier += 1
            verifier = b"soak%04d" % (self._verifier % 10000)
            self._call("CREATE", None, dir=folder, name=name, how=nfs3.EXCLUSIVE, verf=verifier)
            kind = "file"
        elif kind == "dir":
            self._call("MKDIR", nfs3.NFS3ERR_EXIST, dir=folder, name=name,
                       sattr=nfs3.Sattr(mode=0o750))
        elif kind == "symlink":
            self._call("SYMLINK", nfs3.NFS3ERR_EXIST, dir=folder, name=name, target=b"to " + name)
        else:
            from_side, source = self._chance.choice(others)
            handle = self._client.ok("LOOKUP", dir=self._folders[from_side], name=source).fh
            self._call("LINK", nfs3.NFS3ERR_EXIST, file=handle, dir=folder, name=name)
            self._models[side][name] = self._models[from_side][source]
            return
        attr = self._client.ok("LOOKUP", dir=folder, name=name).attr
        self._models[side][name] = (kind, attr.fileid if attr else None)

    def _remove(self, side, name, here):
        procedure = "RMDIR" if here[0] == "dir" else "REMOVE"
        self._call(procedure, nfs3.NFS3ERR_NOENT, dir=self._folders[side], name=name)
        del self._models[side][name]

    def _move(self, side, name):
        to_side = self._chance.randrange(2)
        to_name = b"%d" % self._chance.randrange(NAMES)
        target = self._models[to_side].get(to_name)
        moved = self._models[side][name]
        if target is not None and (target[0] == "dir" or target[1] == moved[1]):
            return  # a folder is not replaced, and a link not moved over its like
        self._call("RENAME", nfs3.NFS3ERR_NOENT, from_dir=self._folders[side], from_name=name,
                   to_dir=self._folders[to_side], to_name=to_name)
        del self._models[side][name]
        self._models[to_side][to_name] = moved

    def _list(self, side):
        seen = {}
        cookie, verifier = 0, bytes(8)
        plus = self._chance.random() < 0.5
        while True:
            limits = dict(dircount=2000, maxcount=8000) if plus else dict(count=1500)
            reply = self._client.ok("READDIRPLUS" if plus else "READDIR", dir=self._folders[side],
                                    cookie=cookie, verf=verifier, **limits)
            for entry in reply.entries:
                if entry.name in (b".", b".."):
                    continue
                if entry.name in seen:
                    raise Fault(f"{entry.name!r} is listed twice")
                seen[entry.name] = entry.fileid
            if reply.eof:
                break
            if not reply.entries:
                raise Fault("a listing without entries and without eof")
            cookie, verifier = reply.entries[-1].cookie, reply.verf
        expected = {name: fileid for name, (_, fileid) in self._models[side].items()}
        if seen != expected:
            lost = sorted(set(expected) - set(seen))[:5]
            risen = sorted(set(seen) - set(expected))[:5]
            other = sorted(name for name in seen if name in expected
                           and seen[name] != expected[name])[:5]
            raise Fault(f"folder {side}: missing {lost}, unexpected {risen}, another file {other};"
                        f" step {self.steps}, life {self._client.life.now()}")
        self._report.add("names verified", len(seen))

    def finish(self):
        for side in (0, 1):
            self._list(side)
            for name, here in list(self._models[side].items()):
                self._remove(side, name, here)
            self._client.ok("RMDIR", dir=self._top, name=(b"one", b"two")[side])
        self._client.ok("RMDIR", dir=self._root, name=self._folder_name)
