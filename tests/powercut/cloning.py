# SPDX-License-Identifier: Apache-2.0
"""A client that has files cloned and their space reserved, through the server, by its sidecar.

What was answered holds after a cut: a clone that is complete has its source's bytes, space that is
reserved is allocated, and the job can be asked for. What was under way is asked for once more, as a
plug-in does; until then its new name must not be there, or be there whole.
"""
import time

import native
import nfs3
from hard import ANSWER_S, GIVE_UP_S, Fault

SOURCES = 3
SOURCE_BYTES_MAX = 1 << 20
NAMES = 6
JOBS_KEPT = 4
PIECE_BYTES = 1 << 16


class Cloning:
    """Sources that stay, and a few names that come, are overwritten, and go."""

    def __init__(self, number, client, root, chance, report):
        self._number = number
        self._client = client
        self._chance = chance
        self._report = report
        self._root = root
        self._native = None
        self._sources = []  # (handle, bytes)
        self._promised = {}  # name -> bytes
        self._reserved = set()  # names whose space is
        self._jobs = []  # the last that were told to be complete
        self._checked_in = None
        self.steps = 0

    def prepare(self):
        for index in range(SOURCES):
            size = self._chance.randrange(1, SOURCE_BYTES_MAX)
            middle = self._chance.randrange(size)  # from here on it is a hole, but for the end
            data = self._chance.randbytes(middle) + bytes(size - middle - 1) + b"e"
            file = self._create(b"source-%d-%d" % (self._number, index))
            for start in range(0, middle, PIECE_BYTES):
                self._write(file, start, data[start:min(start + PIECE_BYTES, middle)])
            self._write(file, size - 1, b"e")
            self._sources.append((file, data))

    def step(self):
        now = self._client.life.now()
        if now % 2 == 0 and now != self._checked_in:
            self._check()
            self._checked_in = now
        name = b"clone-%d-%d" % (self._number, self._chance.randrange(NAMES))
        if name not in self._promised:
            if self._chance.random() < 0.3:
                self._make_thick(name)
            self._clone(name)
        elif self._chance.random() < 0.4:
            self._clone(name)
        elif self._chance.random() < 0.5:
            self._reserve(name)
        else:
            self._remove(name)
        self.steps += 1

    # What it does.

    def _create(self, name):
        return self._client.ok("CREATE", dir=self._root, name=name, how=nfs3.UNCHECKED,
                               sattr=nfs3.Sattr(mode=0o644, size=0)).fh

    def _write(self, file, offset, data):
        reply = self._client.ok("WRITE", file=file, offset=offset, data=data,
                                stable=nfs3.FILE_SYNC)
        if reply.count != len(data):
            raise Fault(f"{reply.count} of {len(data)} bytes were written")

    def _make_thick(self, name):
        """As ESXi makes a thick destination: created, sized, reserved."""
        size = self._chance.randrange(1, SOURCE_BYTES_MAX)
        file = self._create(name)
        self._client.ok("SETATTR", file=file, sattr=nfs3.Sattr(size=size))
        self._promised[name] = bytes(size)
        self._reserve(name)

    def _clone(self, name):
        source, data = self._chance.choice(self._sources)
        flags = native.VERIFY if self._chance.random() < 0.3 else 0
        is_new = self._promised.pop(name, None) is None
        self._reserved.discard(name)
        job = self._ask(lambda: self._native.clone(native.handle(source), self._below(name), flags),
                        between=lambda: is_new and self._must_be_whole(name, data))
        self._promised[name] = data
        self._jobs = [job.id, *self._jobs][:JOBS_KEPT]

    def _reserve(self, name):
        self._ask(lambda: self._native.reserve(self._below(name)))
        self._reserved.add(name)

    def _remove(self, name):
        del self._promised[name]
        self._reserved.discard(name)
        reply, _, resent = self._client.one("REMOVE", dir=self._root, name=name)
        if not (resent and reply.status == nfs3.NFS3ERR_NOENT):
            reply.ok()

    # Calls to the sidecar: hard, as those to the server are.

    def _below(self, name):
        return native.below(self._root, name)

    def _hard(self, call, between=lambda: None):
        """What the sidecar answers; `between` is run before a call goes to another life again."""
        deadline = time.monotonic() + GIVE_UP_S
        while True:
            asked = self._client.life.now()
            try:
                result = self._with_connection(call)
            except (OSError, EOFError) as error:
                self._drop()
                result = native.Result(refused=native.UNAVAILABLE, text=str(error))
            if result.refused == native.OK:
                return result
            if result.refused != native.UNAVAILABLE:
                raise Fault(f"refused with {result.refused}: {result.text}")
            if time.monotonic() > deadline:
                raise Fault(f"no sidecar for {GIVE_UP_S} s: {result.text}")
            time.sleep(0.05)
            if asked != self._client.life.now():
                between()

    def _to_its_end(self, call):
        """The job that a call begins or asks for, waited for."""
        job = call()
        while job.refused == native.OK and job.state in (native.QUEUED, native.RUNNING):
            job = self._native.wait(job.id)
        return job

    def _ask(self, call, between=lambda: None):
        """A job that must come to a good end."""
        job = self._hard(lambda: self._to_its_end(call), between)
        if job.state != native.COMPLETE:
            raise Fault(f"a job ended in state {job.state}: {job.text}")
        return job

    def _with_connection(self, call):
        if not self._native:
            self._native = native.Client(self._client.address)
            self._native.socket.settimeout(ANSWER_S + 30)  # a clone is waited for
        return call()

    def _drop(self):
        if self._native:
            self._native.close()
        self._native = None

    # What it looks for.

    def _must_be_whole(self, name, data):
        reply, _, _ = self._client.one("LOOKUP", dir=self._root, name=name)
        if reply.status != nfs3.NFS3ERR_NOENT:
            self._compare(name, reply.ok().fh, data, "never answered, and there")

    def _compare(self, name, file, wanted, when):
        size = self._client.ok("GETATTR", file=file).attr.size
        if size != len(wanted):
            raise Fault(f"{name.decode()} has {size} bytes; promised: {len(wanted)} ({when})")
        for start in range(0, size, PIECE_BYTES):
            data = self._client.ok("READ", file=file, offset=start, count=PIECE_BYTES).data
            if data != wanted[start:start + PIECE_BYTES]:
                raise Fault(f"{name.decode()}: what begins at byte {start} of {size} is not what"
                            f" was promised ({when})")
            self._report.add("bytes verified", len(data))

    def _check(self):
        for index, (file, data) in enumerate(self._sources):
            self._compare(b"source %d" % index, file, data, "after a restart")
        for name, data in self._promised.items():
            reply, _, _ = self._client.one("LOOKUP", dir=self._root, name=name)
            if reply.status == nfs3.NFS3ERR_NOENT:
                raise Fault(f"{name.decode()} is missing after a restart")
            self._compare(name, reply.ok().fh, data, "after a restart")
            self._report.add("clones verified", 1)
        for name in self._reserved:
            self._check_reserved(name)
        for job_id in self._jobs:
            job = self._ask(lambda job_id=job_id: self._native.job(job_id))
            if job.id != job_id:
                raise Fault(f"job {job_id} was promised; there is {job.id}")

    def _check_reserved(self, name):
        told = self._hard(lambda: self._native.stat(self._below(name)))
        if told.allocated < told.total:
            raise Fault(f"{name.decode()}: {told.allocated} of {told.total} bytes are allocated;"
                        " all were promised (after a restart)")

    def finish(self):
        self._check()
        for name in list(self._promised):
            self._remove(name)
        for index in range(SOURCES):
            self._client.ok("REMOVE", dir=self._root, name=b"source-%d-%d" % (self._number, index))
        self._drop()
