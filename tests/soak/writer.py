# SPDX-License-Identifier: Apache-2.0
"""A client that writes, commits, truncates and reads files, and knows what must be in them."""
import nfs3
from blocks import BLOCK_BYTES, FileModel
from hard import Fault

FILES = 6
FILE_BLOCKS = 1024  # 4 MiB
RUN_BLOCKS = (1, 1, 2, 4, 16, 16, 64, 128)
BATCH_WRITES_MAX = 16
FAR_BLOCKS = (0, 3, 1 << 18, (1 << 28) + 7)  # where a file's blocks begin: 0 to 1 TiB
READ_BLOCKS = 64


class Writer:
    """Works on files of its own, one step at a time, until it is told to stop."""

    def __init__(self, number, client, root, chance, report):
        self._number = number
        self._client = client
        self._chance = chance
        self._report = report
        self._root = root
        self._folder_name = b"writer-%d" % number
        self._files = []
        self._life = client.life
        self._verified_in = None
        self.steps = 0

    def prepare(self):
        self._folder = self._client.ok("MKDIR", dir=self._root, name=self._folder_name,
                                       sattr=nfs3.Sattr(mode=0o755)).fh
        for index in range(FILES):
            name = b"file-%d" % index
            handle = self._client.ok("CREATE", dir=self._folder, name=name, how=nfs3.GUARDED,
                                     sattr=nfs3.Sattr(mode=0o644)).fh
            base = FAR_BLOCKS[index % len(FAR_BLOCKS)]
            self._files.append((handle, FileModel(self._number * 100 + index, base, FILE_BLOCKS)))

    def step(self):
        now = self._life.now()
        if now % 2 == 0 and now != self._verified_in:
            self._after_restart(now)
        handle, model = self._chance.choice(self._files)
        action = self._chance.random()
        if action < 0.5:
            self._write(handle, model)
        elif action < 0.85:
            self._read(handle, model)
        elif action < 0.97:
            self._commit(handle, model)
        else:
            self._truncate(handle, model)
        self.steps += 1

    def _after_restart(self, now):
        """Everything is read, then what was never committed is written again."""
        for handle, model in self._files:
            for start in range(0, FILE_BLOCKS, READ_BLOCKS):
                self._read_at(handle, model, start, READ_BLOCKS)
            self._commit(handle, model)
        self._verified_in = now

    def _write(self, handle, model, batch_off=0.06):
        calls, writes = [], []
        stable = self._chance.choice((nfs3.UNSTABLE, nfs3.UNSTABLE, nfs3.UNSTABLE, nfs3.DATA_SYNC,
                                      nfs3.FILE_SYNC))
        taken = set()
        for _ in range(self._chance.randrange(1, BATCH_WRITES_MAX)):
            count = self._chance.choice(RUN_BLOCKS)
            start = self._chance.randrange(FILE_BLOCKS - count)
            if not taken.isdisjoint(range(start, start + count)):
                continue  # calls in flight together have no order
            taken.update(range(start, start + count))
            first, data = model.new_versions(start, count)
            model.sent(start, first, count)
            calls.append(("WRITE", dict(file=handle, offset=model.offset(start), data=data,
                                        stable=stable)))
            writes.append((start, first, count))
        self._finish_writes(model, calls, writes, self._chance.random() < batch_off)

    def _finish_writes(self, model, calls, writes, break_off=False):
        batch = self._client.batch(calls, break_off)
        for (_, arguments), (start, first, count), reply in zip(calls, writes, batch.replies):
            reply.ok()
            reply.expect(reply.count == count * BLOCK_BYTES, f"{count * BLOCK_BYTES} bytes written")
            reply.expect(reply.committed >= arguments["stable"],
                         f"stability {arguments['stable']} or better")
            self._verifier(reply.verf, batch)
            model.answered(start, first, count, reply.committed != nfs3.UNSTABLE, reply.verf,
                           batch.ended if batch.began == batch.ended else None)

    def _verifier(self, verifier, batch):
        if batch.began == batch.ended and batch.began % 2 == 0:
            self._report.verifier(batch.began, verifier)

    def _read(self, handle, model):
        count = self._chance.choice(RUN_BLOCKS)
        self._read_at(handle, model, self._chance.randrange(FILE_BLOCKS - count), count)

    def _read_at(self, handle, model, start, count):
        batch = self._client.batch([("READ", dict(file=handle, offset=model.offset(start),
                                                  count=count * BLOCK_BYTES))])
        reply = batch.replies[0].ok()
        wanted = count * BLOCK_BYTES
        reply.expect(reply.count == wanted or reply.eof, "all the data, or eof")
        steady = batch.began == batch.ended and batch.began % 2 == 0
        data = reply.data.ljust(wanted, b"\0")
        fault = model.check(start, data, batch.began if steady else None)
        if fault:
            raise Fault(f"{fault}; writer {self._number}, step {self.steps}, READ of {count} blocks"
                        f" gave {reply.count} bytes, eof {reply.eof}, life {batch.began}")
        self._report.add("bytes verified", wanted)

    def _commit(self, handle, model):
        """COMMIT all; what the verifier says is lost is written again, until nothing is."""
        stable = nfs3.UNSTABLE
        while model.pending():
            batch = self._client.batch([("COMMIT", dict(file=handle, offset=0, count=0))])
            reply = batch.replies[0].ok()
            self._verifier(reply.verf, batch)
            lost = model.committed(reply.verf, 0, FILE_BLOCKS)
            if not lost:
                break
            if batch.began == batch.ended and any(
                    model.blocks[index].life == batch.began for index in lost):
                raise Fault(f"COMMIT's verifier {reply.verf.hex()} is not that of a WRITE to block"
                            f" {lost[0]} in the same life {batch.began}")
            self._report.add("blocks written again", len(lost))
            for index in lost:
                first, data = model.new_versions(index, 1)
                model.sent(index, first, 1)
                call = ("WRITE", dict(file=handle, offset=model.offset(index), data=data,
                                      stable=stable))
                self._finish_writes(model, [call], [(index, first, 1)])
            stable = nfs3.FILE_SYNC

    def _truncate(self, handle, model):
        count = self._chance.randrange(FILE_BLOCKS)
        self._commit(handle, model)
        self._client.ok("SETATTR", file=handle, sattr=nfs3.Sattr(size=model.offset(count)))
        model.truncated(count)
        attr = self._client.ok("GETATTR", file=handle).attr
        if attr.size != model.offset(count):
            raise Fault(f"size {attr.size} after SETATTR to {model.offset(count)}")

    def finish(self):
        """A last look at everything, and nothing left behind."""
        self._after_restart(self._life.now())
        for index in range(FILES):
            self._client.ok("REMOVE", dir=self._folder, name=b"file-%d" % index)
        self._client.ok("RMDIR", dir=self._root, name=self._folder_name)
