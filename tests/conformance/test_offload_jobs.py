# SPDX-License-Identifier: Apache-2.0
"""Jobs of lodestore's offload program: found, joined, waited for, cancelled; the service stopped.

What needs a job that is still running copies to the second export, and skips if the server is done
before it can be looked at: `copy_rate` of lodestore.conf(5) makes it slow enough.
"""
import time

import pytest

import nfs3
import offload as o
from offload import below, by_handle, job_number, job_of

rule = pytest.mark.rule
MIB = 1 << 20
SLOW_BYTES = 64 * MIB
NO_SUCH_JOB = 0x7FFFFFFFFFFFFFFF


@pytest.fixture
def source(nfs, home):
    return nfs.new_file(home, b"source", b"content of the source")


@pytest.fixture
def large(nfs, home):
    fh = nfs.new_file(home, b"large")
    for offset in range(0, SLOW_BYTES, MIB):
        nfs.write_all(fh, b"%015d\n" % offset * (MIB // 16), offset, nfs3.UNSTABLE, MIB // 2)
    nfs.commit(fh).ok()
    return fh


@pytest.fixture
def slow(server, offload, large, second_home):
    """Begins a clone that runs for a while; cancelled in the end, the next test wants room."""
    begun = []

    def begin(destination=None, flags=0):
        job = offload.clone(by_handle(large), destination or below(second_home, b"copy"), flags,
                            wait_s=0).ok()
        begun.append(job.id)
        if offload.job(job_number(job.id)).ok().state > o.STATE_RUNNING:
            pytest.skip("the server copies too fast for this test")
        return job
    yield begin
    again = o.Offload(server.connect(), server.cred)  # a test may have restarted the server
    for number in begun:
        again.cancel(job_number(number))
        again.wait(job_number(number))
    again.connection.close()


def absent(nfs, directory, name):
    nfs.lookup(directory, name).fails(nfs3.NFS3ERR_NOENT)


# ------------------------------------------------------------------------------------ finding

@rule("offload.x jobs a")
def test_by_number_and_by_file(offload, home, source):
    """A job that ended is found by its number, and by its destination in any form."""
    job = offload.clone(by_handle(source), below(home, b"copy")).complete()
    for which in (job_number(job.id), job_of(below(home, b"copy"))):
        found = offload.job(which).complete()
        found.expect(found.fields == job.fields, "the same job: %s" % job)
        waited = offload.wait(which).complete()
        waited.expect(waited.fields == job.fields, "the same at once: %s" % job)


@pytest.mark.parametrize("ask", ["job", "wait", "cancel"])
@rule("offload.x jobs b")
def test_unknown_job(offload, home, source, ask):
    """A number that nobody was given, and a file that no job is for, are NO_JOB."""
    question = getattr(offload, ask)
    question(job_number(NO_SUCH_JOB)).fails(o.NO_JOB)
    question(job_number(0)).fails(o.NO_JOB)
    question(job_of(by_handle(source))).fails(o.NO_JOB)
    question(job_of(below(home, b"missing"))).fails(o.NO_JOB, o.NOENT)


@rule("offload.x jobs a")
def test_latest_job_of_a_file(offload, nfs, home, source):
    """By file one finds the latest job that wrote it."""
    first = offload.clone(by_handle(source), below(home, b"copy")).complete()
    second = offload.reserve(below(home, b"copy")).complete()
    found = offload.job(job_of(by_handle(nfs.find(home, b"copy")))).ok()
    found.expect(found.id == second.id > first.id, "job %d" % second.id)


@rule("offload.x jobs c")
def test_list(offload, home, source):
    """JOBS goes through all in the order of their numbers, each once, in pages of any size."""
    made = [offload.clone(by_handle(source), below(home, b"c%d" % i)).complete().id
            for i in range(5)]
    for count_max in (1, 2, o.JOBS_MAX):
        found, after, eof = [], made[0] - 1, False
        while not eof:
            page = offload.jobs(after, count_max).ok()
            page.expect(len(page.jobs) <= count_max, "at most %d" % count_max)
            page.expect(page.jobs or page.eof, "a job, or the end")
            found += [job["id"] for job in page.jobs]
            after, eof = found[-1], page.eof
        assert found == sorted(set(found)), "numbers that rise: %s" % found
        assert [number for number in found if number in made] == made


@pytest.mark.parametrize("count_max", [0, o.JOBS_MAX + 1, 0xFFFFFFFF])
@rule("offload.x jobs c")
def test_list_of_how_many(offload, count_max):
    """No jobs, or more than a reply may have, cannot be asked for."""
    offload.jobs(0, count_max).fails(o.INVALID)


@rule("offload.x jobs c")
def test_list_after_the_last(offload):
    """After the last job there is nothing, and the end is said."""
    page = offload.jobs(NO_SUCH_JOB).ok()
    page.expect(page.jobs == [] and page.eof, "an empty end")


# ------------------------------------------------------------------------------------ joining

@pytest.mark.parametrize("begin", ["clone", "reserve", "checksum", "punch"])
@rule("offload.x jobs d")
def test_sent_again(offload, home, source, begin):
    """The same call once more is answered with the same job: nothing is done twice."""
    calls = {
        "clone": lambda: offload.clone(by_handle(source), below(home, b"copy")),
        "reserve": lambda: offload.reserve(below(home, b"source")),
        "checksum": lambda: offload.checksum(below(home, b"source")),
        "punch": lambda: offload.punch(below(home, b"source")),
    }
    first = calls[begin]().complete()
    again = calls[begin]().complete()
    again.expect(again.fields == first.fields, "the same job: %s" % first)


@rule("offload.x jobs d")
def test_sent_again_in_another_form(offload, home, home_path, source):
    """Which file is meant counts, not how it is written."""
    first = offload.clone(by_handle(source), below(home, b"copy")).complete()
    again = offload.clone(o.by_path(home_path + b"/source"),
                          o.by_path(home_path + b"/copy")).complete()
    again.expect(again.id == first.id, "job %d" % first.id)


@pytest.mark.parametrize("changed", [b"source", b"copy"])
@rule("offload.x jobs e")
def test_sent_again_after_a_change(offload, nfs, home, source, changed):
    """When a file has changed since, the same call is new work."""
    first = offload.clone(by_handle(source), below(home, b"copy")).complete()
    nfs.write_all(nfs.find(home, changed), b"CHANGED")
    again = offload.clone(by_handle(source), below(home, b"copy")).complete()
    again.expect(again.id != first.id, "a new job")
    assert nfs.read_all(nfs.find(home, b"copy")) == nfs.read_all(source)


@rule("offload.x jobs e")
def test_other_flags_are_other_work(offload, home, source):
    """A clone with other flags is not the same call."""
    first = offload.clone(by_handle(source), below(home, b"copy")).complete()
    again = offload.clone(by_handle(source), below(home, b"copy"), o.CLONE_VERIFY).complete()
    again.expect(again.id != first.id and again.checksum, "a new job that verifies")


# ---------------------------------------------------------------------------- while it runs

@rule("offload.x jobs f")
def test_running_job_tells_how_far_it_is(offload, slow):
    """A job that runs says how much is done, which grows, and that it has not finished."""
    begun = slow()
    seen = []
    while len(seen) < 3:
        job = offload.job(job_number(begun.id)).ok()
        if job.state == o.STATE_QUEUED:
            continue
        job.expect(job.state == o.STATE_RUNNING and job.finished_ms == 0, "a running job")
        job.expect(job.bytes_total == SLOW_BYTES, "of %d bytes" % SLOW_BYTES)
        if job.bytes_done not in seen:
            seen.append(job.bytes_done)
    assert seen == sorted(seen) and seen[-1] < SLOW_BYTES, seen


@rule("offload.x jobs f", "offload.x clone g")
def test_not_there_before_it_is_whole(offload, nfs, second_home, slow):
    """While it is copied, a new destination has no name; when it has, it is whole."""
    slow()
    absent(nfs, second_home, b"copy")


@rule("offload.x jobs d")
def test_joins_a_running_job(offload, nfs, large, second_home, slow):
    """The same clone asked for again while it runs joins it, from another connection as well."""
    begun = slow()
    again = offload.clone(by_handle(large), below(second_home, b"copy"), wait_s=0).ok()
    again.expect(again.id == begun.id, "job %d" % begun.id)


@rule("offload.x jobs g")
def test_wait_is_bounded(offload, slow):
    """WAIT comes back after its seconds with the job as it is; CLONE does the same."""
    begun = slow()
    started = time.monotonic()
    job = offload.wait(job_number(begun.id), 1).ok()
    waited_s = time.monotonic() - started
    job.expect(job.state <= o.STATE_RUNNING, "a job that has not ended")
    assert 0.9 < waited_s < 5, "asked to wait 1 s, answered after %.1f s" % waited_s


@rule("offload.x jobs g")
def test_wait_ends_with_the_job(offload, nfs, large, second_home, slow):
    """However long one would wait, the answer comes when the job ends, and the clone is whole."""
    begun = slow()
    job = begun
    for _ in range(4):
        job = offload.wait(job_number(begun.id), 0xFFFFFFFF)
        if job.state not in (o.STATE_QUEUED, o.STATE_RUNNING):
            break
    job.complete()
    ago_ms = time.time() * 1000 - job.finished_ms
    copy = nfs.find(second_home, b"copy")
    for offset in range(0, SLOW_BYTES, 7 * MIB):
        reply = nfs.read(copy, offset, 4096).ok()
        reply.expect(reply.data == nfs.read(large, offset, 4096).ok().data, "the source's bytes")
    assert nfs.attributes(copy).size == SLOW_BYTES
    job.expect(ago_ms < 5000, "an answer as soon as it ended")


@rule("offload.x jobs h")
def test_cancel_leaves_nothing(offload, nfs, second_home, slow):
    """A clone that is cancelled ends soon, CANCELLED, and its destination is not there."""
    begun = slow()
    offload.cancel(job_number(begun.id)).ok()
    offload.wait(job_number(begun.id)).ends(o.STATE_CANCELLED, o.CANCELLED)
    absent(nfs, second_home, b"copy")


@rule("offload.x jobs h")
def test_cancel_into_an_existing_file(offload, nfs, second_home, slow):
    """An existing destination has its former length afterwards, not half a copy."""
    there = nfs.new_file(second_home, b"there", b"x" * 5000)
    begun = slow(by_handle(there))
    offload.cancel(job_number(begun.id)).ok()
    offload.wait(job_number(begun.id)).ends(o.STATE_CANCELLED, o.CANCELLED)
    attr = nfs.attributes(there)
    assert attr.size == 5000, "expected a length of 5000: %s" % (attr,)


@rule("offload.x jobs h")
def test_cancel_by_a_stranger(offload, slow, as_root):
    """Another user cannot cancel it: ACCESS, and it goes on."""
    begun = slow()
    offload.as_user(1000, 1000).cancel(job_number(begun.id)).fails(o.ACCESS)
    job = offload.job(job_number(begun.id)).ok()
    job.expect(job.state <= o.STATE_RUNNING, "a job that goes on")


@rule("offload.x jobs h")
def test_cancel_too_late(offload, nfs, home, source):
    """What is done stays done."""
    job = offload.clone(by_handle(source), below(home, b"copy")).complete()
    offload.cancel(job_number(job.id)).complete()
    assert nfs.read_all(nfs.find(home, b"copy")) == b"content of the source"


@rule("offload.x jobs i")
def test_destination_is_busy(offload, nfs, home, source, second_home, slow):
    """While a job writes a file, nothing else may write it or read it for a clone."""
    there = nfs.new_file(second_home, b"there", b"x" * 5000)
    slow(by_handle(there))
    offload.clone(by_handle(source), by_handle(there)).fails(o.BUSY)
    offload.clone(by_handle(there), below(home, b"copy")).fails(o.BUSY)
    offload.reserve(by_handle(there)).fails(o.BUSY)
    offload.punch(below(second_home, b"there")).fails(o.BUSY)
    absent(nfs, home, b"copy")


@rule("offload.x jobs i")
def test_other_files_are_not(offload, home, source, slow):
    """Small clones of other files do not wait for a copy that runs."""
    slow()
    started = time.monotonic()
    for i in range(5):
        offload.clone(by_handle(source), below(home, b"c%d" % i)).complete()
    assert time.monotonic() - started < 5


@rule("offload.x clone g")
def test_source_changes_meanwhile(offload, nfs, large, second_home, slow):
    """A source that is written while it is copied fails the job; no torn clone appears."""
    begun = slow()
    nfs.write_all(large, b"CHANGED", SLOW_BYTES - MIB)
    job = offload.wait(job_number(begun.id))
    job.job_fails(o.CHANGED)
    absent(nfs, second_home, b"copy")


@rule("offload.x clone g")
def test_destination_removed_meanwhile(offload, nfs, second_home, slow):
    """An existing destination that is removed under the copy: GONE, and its name stays free."""
    there = nfs.new_file(second_home, b"there", b"x" * 5000)
    begun = slow(by_handle(there))
    nfs.remove(second_home, b"there").ok()
    offload.wait(job_number(begun.id)).job_fails(o.GONE)
    absent(nfs, second_home, b"there")


@rule("offload.x clone g")
def test_name_taken_meanwhile(offload, nfs, second_home, slow):
    """Whoever makes a file of the destination's name meanwhile keeps it: EXISTS."""
    begun = slow()
    there = nfs.new_file(second_home, b"copy", b"another's")
    offload.wait(job_number(begun.id)).job_fails(o.EXISTS)
    assert nfs.find(second_home, b"copy") == there
    assert nfs.read_all(there) == b"another's"


# --------------------------------------------------------------------------- when it is away

@pytest.fixture
def service(server, offload):
    """Stops and starts the offload service; it runs again after the test."""
    if not (server.options.offload_stop_cmd and server.options.offload_start_cmd):
        pytest.skip("needs --offload-stop-cmd and --offload-start-cmd")
    stopped = []

    class Service:
        def stop(self):
            server.hook("offload_stop_cmd")
            stopped.append(True)

        def start(self):
            server.hook("offload_start_cmd")
            stopped.clear()

    yield Service()
    if stopped:
        server.hook("offload_start_cmd")


@rule("offload.x service a")
def test_service_stopped(offload, nfs, home, source, service):
    """Without the service its calls are UNAVAILABLE at once, NFS goes on, and later all is well."""
    service.stop()
    started = time.monotonic()
    for reply in (offload.stat(by_handle(source)), offload.jobs(),
                  offload.clone(by_handle(source), below(home, b"copy")),
                  offload.job(job_number(1))):
        reply.fails(o.UNAVAILABLE)
    assert time.monotonic() - started < 5
    assert nfs.read_all(source) == b"content of the source"
    absent(nfs, home, b"copy")
    service.start()
    offload.clone(by_handle(source), below(home, b"copy")).complete()


@rule("offload.x service b")
def test_results_outlive_the_service(offload, home, source, service):
    """The result of a job can be asked for after a restart."""
    job = offload.clone(by_handle(source), below(home, b"copy")).complete()
    service.stop()
    service.start()
    found = offload.job(job_number(job.id)).complete()
    found.expect(found.fields == job.fields, "the same job: %s" % job)


@rule("offload.x service b")
def test_copy_goes_on_after_a_restart(offload, nfs, large, second_home, slow, service):
    """A copy that the service was stopped in goes on when it starts again, and ends whole."""
    begun = slow()
    service.stop()
    absent(nfs, second_home, b"copy")
    service.start()
    job = offload.wait(job_number(begun.id))
    while job.state in (o.STATE_QUEUED, o.STATE_RUNNING):
        job = offload.wait(job_number(begun.id))
    job.complete()
    sums = [offload.checksum(file).complete().checksum
            for file in (by_handle(large), below(second_home, b"copy"))]
    assert sums[0] == sums[1]


@rule("offload.x service c")
def test_copy_goes_on_while_nfs_restarts(server, nfs, offload, second_home, slow):
    """A copy does not end because the NFS server does."""
    if not server.options.kill_cmd:
        pytest.skip("needs --kill-cmd")
    begun = slow()
    server.hook("kill_cmd")
    again = o.Offload(server.connect(), server.cred)
    job = again.job(job_number(begun.id)).ok()
    job.expect(job.state == o.STATE_RUNNING, "the job still running")
    again.cancel(job_number(begun.id)).ok()
    again.wait(job_number(begun.id)).ends(o.STATE_CANCELLED, o.CANCELLED)
    again.connection.close()
