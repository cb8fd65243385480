# SPDX-License-Identifier: Apache-2.0
"""What the clients tell the run: faults, counters, verifiers, latencies; and how they are run."""
import os
import random
import signal
import time
import traceback

import rpc
from hard import HardClient

COUNTERS = ("calls", "steps", "bytes verified", "names verified", "blocks written again",
            "calls found done after a restart", "reconnects", "jukeboxes", "clones verified")
LATENCY_STEPS_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)
FAULTS_KEPT = 50


class Report:
    """Shared by all client processes; the run reads it."""

    def __init__(self, context):
        self._lock = context.Lock()
        self._counters = context.Array("Q", len(COUNTERS))
        self._latencies = context.Array("Q", len(LATENCY_STEPS_S) + 1)
        self._slowest = context.Value("d", 0.0)
        self.faults = context.SimpleQueue()
        self.verifiers = context.SimpleQueue()
        self.lives = {}  # life -> set of write verifiers that clients saw; only the run has them
        self._told = set()

    def add(self, name, amount):
        with self._counters.get_lock():
            self._counters[COUNTERS.index(name)] += amount

    def get(self, name):
        return self._counters[COUNTERS.index(name)]

    def verifier(self, life, verifier):
        """A write verifier was seen in a life of the server; told once a process and life."""
        if (life, verifier) not in self._told:
            self._told.add((life, verifier))
            self.verifiers.put((life, verifier))

    def verifier_faults(self):
        """A life of the server has one write verifier, and no other life has the same."""
        while not self.verifiers.empty():
            life, verifier = self.verifiers.get()
            seen = self.lives.setdefault(life, set())
            seen.add(verifier)
            if len(seen) == 2:
                yield f"two write verifiers in life {life}"
            others = [other for other, found in self.lives.items()
                      if other != life and verifier in found]
            if others:
                yield f"life {life} has the write verifier of life {others[0]}"

    def latency(self, seconds):
        index = sum(seconds > step for step in LATENCY_STEPS_S)
        with self._latencies.get_lock():
            self._latencies[index] += 1
            self._slowest.value = max(self._slowest.value, seconds)

    def slowest(self):
        return self._slowest.value

    def latency_lines(self):
        labels = [f"up to {step * 1000:g} ms" for step in LATENCY_STEPS_S] + ["longer"]
        return [f"{label}: {count}" for label, count in zip(labels, self._latencies) if count]

    def fault(self, who, text):
        self.faults.put((time.time(), who, text))


def run_client(kind, number, life, address, root, seed, stop, report, break_offs, seen_in=None):
    """The body of one client process: steps until told to stop; a fault ends only this client.

    seen_in[number] is set to the server's life that the last step began and ended in. The first
    step in a life looks at what earlier ones promised.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    who = f"{kind.__name__.lower()} {number}"
    chance = random.Random(f"{seed}/{who}")
    client = HardClient(life, address, chance, break_offs)
    actor = kind(number, client, root, chance, report)
    counted = dict(calls=0, steps=0, reconnects=0, jukeboxes=0)

    def count():
        now = dict(calls=client.calls, steps=actor.steps, reconnects=client.reconnects,
                   jukeboxes=client.jukeboxes)
        for name, value in now.items():
            report.add(name, value - counted[name])
            counted[name] = value

    ended_well = False
    try:
        actor.prepare()
        while not stop.is_set():
            began = life.now()
            actor.step()
            if seen_in is not None and began == life.now():
                seen_in[number] = began
            if actor.steps % 20 == 0:
                count()
        actor.finish()
    except AssertionError as error:
        trail = "\n".join(f"        {line}" for line in list(rpc.trace)[-6:])
        report.fault(who, f"{error}\n    its last calls:\n{trail}")
    except Exception:
        report.fault(who, "the client itself failed:\n" + traceback.format_exc())
    else:
        ended_well = True
    finally:
        count()
        client.close()
    os._exit(0 if ended_well else 1)
