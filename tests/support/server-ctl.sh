#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# server-ctl.sh start | stop | restart | kill - the server under test, for suites that restart it.
#
# $SERVER_CTL names a folder with the file `words` (the command line, a word a line); the server's
# process id and its output (`log`) are kept beside it. restart asks it to end and starts it again;
# kill does not ask. A server is where its --port or, for the sidecar, its --socket is.

set -euo pipefail

# shellcheck source=tests/support/serve.sh
. "$(dirname "$0")/serve.sh"
cd "${SERVER_CTL:?names no folder}"

where_of_words() { grep -A1 -x -e '--port' -e '--socket' words | tail -n 1; }

start()
{
	local words

	mapfile -t words < words
	setsid "${words[@]}" >> log 2>&1 < /dev/null &
	echo $! > pid
	server_wait "$(cat pid)" "$(where_of_words)" 20 || {
		tail -n 30 log
		echo "the server did not start"
		exit 1
	}
}

# end SIGNAL - and wait until it is gone; it is no child of this script.
end()
{
	local pid tries=200

	pid=$(cat pid)
	kill "-$1" "$pid" || {
		tail -n 60 log
		echo "the server had ended by itself"
		return 1
	}
	while kill -0 "$pid" 2> /dev/null && ! grep -qs '^State:.Z' "/proc/$pid/status"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || {
			echo "the server did not end within 20 s of SIG$1"
			return 1
		}
		sleep 0.1
	done
	rm pid
	# The kernel closes a killed server's sockets a moment after its end; until then the port
	# still answers, and start would take that for the new server.
	while [ "$tries" -gt 0 ] && server_answers "$(where_of_words)"; do
		tries=$((tries - 1))
		sleep 0.02
	done
}

case ${1:-} in
start) start ;;
stop) end TERM ;;
restart)
	end TERM
	start
	;;
kill)
	end KILL
	start
	;;
*)
	echo "server-ctl.sh: start, stop, restart or kill" >&2
	exit 2
	;;
esac
