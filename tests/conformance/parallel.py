# SPDX-License-Identifier: Apache-2.0
"""Several hosts at once: the same action on several connections, started together."""
import collections
import threading

from nfs3 import status_name


def in_parallel(server, count, action):
    """Run action(client, i) on so many connections at the same moment; the list of results."""
    clients = [server.nfs() for _ in range(count)]
    ready, results = threading.Barrier(count), [None] * count

    def one(i):
        try:
            ready.wait(10)
            results[i] = action(clients[i], i)
        except Exception as error:  # shown by the assertion on the results
            results[i] = str(error)

    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    for client in clients:
        client.connection.close()
    return results


def tally(outcomes):
    """How often each status came: {"NFS3_OK": 1, "NFS3ERR_EXIST": 7}; errors by their text."""
    return dict(collections.Counter(outcome if isinstance(outcome, str) else status_name(outcome)
                                    for outcome in outcomes))
