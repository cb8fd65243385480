# SPDX-License-Identifier: Apache-2.0
"""How lodestore-esx.py speaks with a server, and with what is none: a listener that plays it."""

import socket
import struct
import threading

import pytest

OK, NO_JOB, UNAVAILABLE = 0, 17, 20


def opaque(raw):
    return struct.pack(">I", len(raw)) + raw + bytes(-len(raw) % 4)


def record(xid, body, mark=None, kind=1):
    reply = struct.pack(">II", xid, kind) + body
    return struct.pack(">I", 0x80000000 | len(reply) if mark is None else mark) + reply


def accepted(result, accept=0):
    return struct.pack(">IIII", 0, 0, 0, accept) + result


def job(state, number=7, text=b"", done=5, total=10):
    return struct.pack(">I", OK) + struct.pack(">QIIII", number, 1, state, 0, 0) + \
        opaque(b"copy") + struct.pack(">QQQQ", done, total, 0, 99) + bytes(24) + \
        struct.pack(">I", 1) + bytes(range(16)) + opaque(text) + opaque(b"/a") + opaque(b"/b")


def refusal(status, text=b"because"):
    return struct.pack(">I", status) + opaque(text)


class Listener(threading.Thread):
    """Answers call after call with what it was given; a callable makes the bytes of the call."""

    def __init__(self, answers):
        threading.Thread.__init__(self, daemon=True)
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(5)
        self.port = self.socket.getsockname()[1]
        self.answers, self.procedures, self.calls = list(answers), [], []
        self.start()

    def run(self):
        while self.answers:
            connection = self.socket.accept()[0]
            with connection:
                try:
                    while self.answers and self.serve(connection):
                        pass
                except ConnectionError:
                    pass  # that client has had enough
        self.socket.close()

    def serve(self, connection):
        head = connection.recv(4, socket.MSG_WAITALL)
        if len(head) < 4:
            return False
        call = connection.recv(struct.unpack(">I", head)[0] & 0x7FFFFFFF, socket.MSG_WAITALL)
        self.calls.append(call)
        self.procedures.append(struct.unpack(">I", call[20:24])[0])
        xid, answer = struct.unpack(">I", call[:4])[0], self.answers.pop(0)
        if answer is None:
            return False  # hang up
        connection.sendall(answer(xid) if callable(answer) else record(xid, accepted(answer)))
        return True


@pytest.fixture(name="talk")
def fixture_talk(esx, monkeypatch):
    """talk(answers): a server to call, and its listener."""
    monkeypatch.setattr(esx, "ANSWER_S", 3)
    monkeypatch.setattr(esx.time, "sleep", lambda seconds: None)
    opened = []

    def start(*answers):
        listener = Listener(answers)
        opened.append(esx.Server("127.0.0.1", listener.port))
        return opened[-1], listener

    yield start
    for server in opened:
        server.close()


def patience(esx, server, away_s=5):
    said = []
    return esx.Patience(server, away_s, said.append), said


def test_a_call_is_as_the_rfc_and_offload_x_say(esx, talk):
    server, listener = talk(struct.pack(">II", OK, 3))
    assert server.call(esx.SUPPORT, esx.xdr_file("/srv/\udcff"), esx.Reader.u32) == 3
    call = listener.calls[0]
    assert struct.unpack(">IIIII", call[4:24]) == (0, 2, 0x20004C53, 1, 1)
    assert struct.unpack(">I", call[24:28]) == (1,)  # AUTH_SYS
    assert call.endswith(bytes(8) + struct.pack(">II", 1, 6) + b"/srv/\xff\0\0")


def test_fragments_are_put_together(esx, talk):
    def fragments(xid):
        whole = record(xid, accepted(struct.pack(">II", OK, 3)))[4:]
        return struct.pack(">I", 10) + whole[:10] + struct.pack(">I", 0) + \
            struct.pack(">I", 0x80000000 | len(whole) - 10) + whole[10:]

    server, _ = talk(fragments)
    assert server.call(esx.SUPPORT, b"", esx.Reader.u32) == 3


@pytest.mark.parametrize("answer", [
    None,
    lambda xid: record(xid + 1, accepted(bytes(8))),
    lambda xid: record(xid, accepted(bytes(8)), kind=0),
    lambda xid: record(xid, b""),
    lambda xid: record(xid, accepted(b"")),
    lambda xid: record(xid, accepted(struct.pack(">IH", OK, 3))),
    lambda xid: record(xid, accepted(struct.pack(">II", 3, 1 << 31))),
    lambda xid: record(xid, b"", mark=0x80000000 | 1 << 30),
    lambda xid: b"HTTP/1.1 400 Bad Request\r\n\r\n",
    lambda xid: b"\x80",
], ids=["hangs up", "another xid", "a call", "empty", "no status", "half a result",
        "text too long", "1 GiB", "HTTP", "one byte"])
def test_what_is_no_answer_is_said_and_the_next_call_connects_again(esx, talk, answer):
    server, _ = talk(answer, struct.pack(">II", OK, 3))
    with pytest.raises(esx.Unreachable, match="does not answer"):
        server.call(esx.SUPPORT, b"", esx.Reader.u32)
    assert server.socket is None
    if answer is None:
        assert server.call(esx.SUPPORT, b"", esx.Reader.u32) == 3


@pytest.mark.parametrize("answer, said", [
    (lambda xid: record(xid, struct.pack(">III", 1, 1, 5)), "exports"),
    (lambda xid: record(xid, accepted(b"", 1)), "serves no offload program"),
    (lambda xid: record(xid, accepted(b"", 3)), "serves no offload program"),
    (refusal(3), "because"),
])
def test_refusals_are_told(esx, talk, answer, said):
    server, _ = talk(answer)
    with pytest.raises(esx.Failure, match=said):
        server.call(esx.SUPPORT, b"", esx.Reader.u32)


def test_a_job_is_begun_and_seen_through(esx, talk):
    server, listener = talk(job(esx.QUEUED), job(esx.RUNNING), job(esx.COMPLETE, done=10))
    seen = []
    made = patience(esx, server)[0].job(esx.CLONE, b"", "x", lambda one: seen.append(one.state))
    assert (made.state, made.engine, made.bytes_total) == (esx.COMPLETE, "copy", 10)
    assert made.checksum == bytes(range(16)).hex()
    assert seen == [esx.QUEUED, esx.RUNNING]
    assert listener.procedures == [esx.CLONE, esx.WAIT, esx.WAIT]


def test_away_and_back_the_job_is_waited_for(esx, talk):
    server, listener = talk(refusal(UNAVAILABLE), None, job(esx.RUNNING), refusal(UNAVAILABLE),
                            None, job(esx.COMPLETE))
    patient, said = patience(esx, server)
    assert patient.job(esx.CLONE, b"", "x", lambda one: None).state == esx.COMPLETE
    assert listener.procedures == [esx.CLONE] * 3 + [esx.WAIT] * 3
    assert len(said) == 2  # once each time it was away


def test_a_server_that_forgot_the_job_is_asked_for_it_again(esx, talk):
    server, listener = talk(job(esx.RUNNING), refusal(NO_JOB), job(esx.COMPLETE))
    patience(esx, server)[0].job(esx.CLONE, b"", "x", lambda one: None)
    assert listener.procedures == [esx.CLONE, esx.WAIT, esx.CLONE]


def test_a_failed_job_is_not_begun_again(esx, talk):
    server, listener = talk(job(esx.RUNNING), job(esx.FAILED, text=b"copying: it broke"))
    with pytest.raises(esx.Failure, match="/x/vm7-flat.vmdk: .*it broke"):
        patience(esx, server)[0].job(esx.CLONE, b"", "/x/vm7-flat.vmdk", lambda one: None)
    assert listener.procedures == [esx.CLONE, esx.WAIT]


def test_patience_ends(esx, talk):
    server, _ = talk(refusal(UNAVAILABLE))
    with pytest.raises(esx.Failure, match="same command again") as caught:
        patience(esx, server, 0)[0].call(esx.STAT, b"", esx.Reader.u64)
    assert caught.value.status == 4


@pytest.mark.parametrize("count, text", [(0, "0B"), (1023, "1023B"), (8684, "8.48K"),
                                         (50 << 30, "50G"), (3 << 40, "3T"), (5 << 50, "5120T")])
def test_sizes(esx, count, text):
    assert esx.size_text(count) == text
