# SPDX-License-Identifier: Apache-2.0
"""Several hosts at once: the same action on several connections, started together."""
import threading


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
