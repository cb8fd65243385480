# SPDX-License-Identifier: Apache-2.0
"""lodestore's offload program (rpcgen/offload.x), the client's side: clones, space and checksums.

Built like nfs3.py: a method for each procedure gives a Reply with `status` and the fields of the
result. A job's fields (id, state, engine, ...) are the reply's own; `refusal` is the text that
comes with a status that is not OK. What may take long is asked for with `wait_s`, the seconds for
which the server may keep the answer back.

    offload.clone(by_handle(a), below(home, b"b")).complete().engine

A file is named in one of three forms: by_handle(), by_path(), below().
"""
import nfs3
import rpc
from nfs3 import show, show_handle
from rpc import GarbageAnswer, Rejected, hexdump
from xdr import Packer, Unpacker, XdrError

PROGRAM, VERSION = 0x20004C53, 1
RELAY_PROGRAM = 0x20004C54  # between the server's own programs
HANDLE_BYTES_MAX, PATH_BYTES_MAX, TEXT_BYTES_MAX, ENGINE_BYTES_MAX = 64, 1024, 255, 31
WAIT_S_MAX, JOBS_MAX = 20, 32

(OK, INVALID, NOENT, ACCESS, READ_ONLY, EXISTS, NOT_FILE, SAME_FILE, STALE, BUSY, LOCKED, NO_SPACE,
 UNSUPPORTED, CHANGED, GONE, DIFFERS, CANCELLED, NO_JOB, TOO_MANY, IO, UNAVAILABLE,
 INTERNAL) = range(22)
STATUS_NAMES = ("OK INVALID NOENT ACCESS READ_ONLY EXISTS NOT_FILE SAME_FILE STALE BUSY LOCKED "
                "NO_SPACE UNSUPPORTED CHANGED GONE DIFFERS CANCELLED NO_JOB TOO_MANY IO "
                "UNAVAILABLE INTERNAL").split()

KIND_CLONE, KIND_RESERVE, KIND_CHECKSUM, KIND_PUNCH = range(1, 5)
STATE_QUEUED, STATE_RUNNING, STATE_COMPLETE, STATE_FAILED, STATE_CANCELLED = range(5)
STATE_NAMES = "QUEUED RUNNING COMPLETE FAILED CANCELLED".split()
CAN_CLONE, CAN_FAST_CLONE, CAN_RESERVE, CAN_STAT_UNIQUE, CAN_PUNCH = 1, 2, 4, 8, 16
CLONE_FAST, CLONE_VERIFY, CLONE_NEW, CLONE_THIN = 1, 2, 4, 8
PUNCH_DRY_RUN = 1
(NULL, SUPPORT, CLONE, RESERVE, STAT, CHECKSUM, PUNCH, JOB, JOBS, CANCEL, WAIT) = range(11)
PROCEDURE_NAMES = "NULL SUPPORT CLONE RESERVE STAT CHECKSUM PUNCH JOB JOBS CANCEL WAIT".split()


def status_name(status):
    return STATUS_NAMES[status] if status < len(STATUS_NAMES) else "status %d" % status


# ------------------------------------------------------------------------ what a call names

class Argument:
    """Encoded bytes, and how they are shown in a failure."""

    def __init__(self, data, text):
        self.data, self.text = data, text

    def __repr__(self):
        return self.text


def by_handle(fh):
    return Argument(Packer().u32(0).opaque(fh).bytes(), show_handle(fh))


def by_path(path):
    return Argument(Packer().u32(1).opaque(path).bytes(), show(path))


def below(directory, path):
    return Argument(Packer().u32(2).opaque(directory).opaque(path).bytes(),
                    "%s/%s" % (show_handle(directory), show(path)))


def job_number(number):
    return Argument(Packer().u32(0).u64(number).bytes(), "job %d" % number)


def job_of(file):
    """The latest job whose destination, or only file, is this one."""
    return Argument(Packer().u32(1).raw(file.data).bytes(), "the job of %s" % file)


# ---------------------------------------------------------------------------------- replies

def _text(u, limit=TEXT_BYTES_MAX):
    data = u.opaque(limit)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise XdrError("a text that is not UTF-8: %s" % hexdump(data)) from None


def _job(u):
    job = dict(id=u.u64(), kind=u.u32(), state=u.u32(), job_status=u.u32(), flags=u.u32(),
               engine=_text(u, ENGINE_BYTES_MAX))
    for name in ("bytes_done", "bytes_total", "bytes_moved", "rate", "created_ms", "started_ms",
                 "finished_ms"):
        job[name] = u.u64()
    has_checksum, checksum = u.boolean(), u.fixed(16)
    job.update(checksum=checksum.hex() if has_checksum else None, text=_text(u),
               source=u.opaque(PATH_BYTES_MAX), destination=u.opaque(PATH_BYTES_MAX))
    if not (1 <= job["kind"] <= KIND_PUNCH and job["state"] <= STATE_CANCELLED
            and job["job_status"] <= INTERNAL and job["id"]):
        raise XdrError("a job with a field out of its range: %s" % job)
    return job


def _support(u):
    return dict(can=u.u32(), file_system=_text(u), server_version=_text(u))


def _stat(u):
    return dict(total_bytes=u.u64(), allocated_bytes=u.u64(), unique_bytes=u.u64(),
                extents=u.u64(), knows_shared=u.boolean())


def _jobs(u):
    count = u.u32()
    if count > JOBS_MAX:
        raise XdrError("%d jobs where the protocol allows %d" % (count, JOBS_MAX))
    return dict(jobs=[_job(u) for _ in range(count)], eof=u.boolean())


class Reply(nfs3.Reply):
    """A decoded result, held to something as one of NFS's is."""

    def __str__(self):
        return "%s %s" % (status_name(self.status), self.fields)

    def ok(self):
        __tracebackhide__ = True
        return self.expect(self.status == OK, "OK")

    def fails(self, *expected):
        """Refused, with one of these and a text that says why."""
        __tracebackhide__ = True
        self.expect(self.status in expected, " or ".join(map(status_name, expected)))
        return self.expect(self.refusal, "a text that says why")

    def ends(self, state, *job_status):
        __tracebackhide__ = True
        self.ok().expect(self.state == state, "a job that is %s" % STATE_NAMES[state])
        return self.expect(self.job_status in job_status,
                           "its status %s" % " or ".join(map(status_name, job_status)))

    def complete(self):
        __tracebackhide__ = True
        return self.ends(STATE_COMPLETE, OK)

    def job_fails(self, *job_status):
        __tracebackhide__ = True
        return self.ends(STATE_FAILED, *job_status)


class Offload:
    """The program on one connection, which it shares with NFS or has of its own."""

    def __init__(self, connection, cred):
        self.connection, self.cred = connection, cred

    def as_user(self, uid, gid, gids=()):
        return Offload(self.connection, rpc.auth_sys(uid, gid, gids))

    def call_rpc(self, procedure, arguments=b"", version=VERSION, program=PROGRAM):
        return self.connection.call_rpc(program, version, procedure, arguments, self.cred)

    def start(self, procedure, arguments):
        """Send a call whose answer is waited for by finish()."""
        return self.connection.send(rpc.call_message(PROGRAM, VERSION, procedure, arguments,
                                                     self.cred))

    def finish(self, xid, call, decode, wait_s=0):
        header = self.connection.wait(xid, self.connection.timeout + min(wait_s, WAIT_S_MAX))
        if header.accept_stat != rpc.SUCCESS:
            raise Rejected("%s: expected SUCCESS, got %s" % (call, header))
        u = Unpacker(header.results)
        try:
            status = u.u32()
            if status > INTERNAL:
                raise XdrError("a status of %d" % status)
            fields = decode(u) if status == OK else dict(refusal=_text(u))
            u.done()
        except XdrError as error:
            raise GarbageAnswer("%s: %s; results %s"
                                % (call, error, hexdump(header.results))) from None
        reply = Reply(call, status, fields, len(header.results))
        rpc.trace.append("<- OFFLOAD %s" % reply)
        return reply

    def _call(self, procedure, decode, arguments, *shown, wait_s=0):
        call = "%s(%s)" % (PROCEDURE_NAMES[procedure], ", ".join(map(str, shown)))
        rpc.trace.append("-> OFFLOAD %s [%s]" % (call, self.cred))
        return self.finish(self.start(procedure, arguments), call, decode, wait_s)

    # -- the procedures

    def null(self):
        header = self.call_rpc(NULL)
        if header.accept_stat != rpc.SUCCESS or header.results:
            raise Rejected("NULL: expected SUCCESS and no results, got %s, %s"
                           % (header, hexdump(header.results)))

    def support(self, file):
        return self._call(SUPPORT, _support, file.data, file)

    def clone(self, source, destination, flags=0, wait_s=WAIT_S_MAX):
        arguments = Packer().raw(source.data).raw(destination.data).u32(flags).u32(wait_s).bytes()
        return self._call(CLONE, _job, arguments, source, destination, "flags=%d" % flags,
                          "wait_s=%d" % wait_s, wait_s=wait_s)

    def reserve(self, file, count=0, wait_s=WAIT_S_MAX):
        arguments = Packer().raw(file.data).u64(count).u32(wait_s).bytes()
        return self._call(RESERVE, _job, arguments, file, "bytes=%d" % count, wait_s=wait_s)

    def stat(self, file):
        return self._call(STAT, _stat, file.data, file)

    def checksum(self, file, wait_s=WAIT_S_MAX):
        return self._call(CHECKSUM, _job, Packer().raw(file.data).u32(wait_s).bytes(), file,
                          wait_s=wait_s)

    def punch(self, file, flags=0, wait_s=WAIT_S_MAX):
        arguments = Packer().raw(file.data).u32(flags).u32(wait_s).bytes()
        return self._call(PUNCH, _job, arguments, file, "flags=%d" % flags, wait_s=wait_s)

    def job(self, which):
        return self._call(JOB, _job, which.data, which)

    def jobs(self, after_id=0, count_max=JOBS_MAX):
        return self._call(JOBS, _jobs, Packer().u64(after_id).u32(count_max).bytes(),
                          "after_id=%d" % after_id, "count_max=%d" % count_max)

    def cancel(self, which):
        return self._call(CANCEL, _job, which.data, which)

    def wait(self, which, wait_s=WAIT_S_MAX):
        return self._call(WAIT, _job, Packer().raw(which.data).u32(wait_s).bytes(), which,
                          "wait_s=%d" % wait_s, wait_s=wait_s)
