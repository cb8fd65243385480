#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 480
# each: xfs-rpcbind xfs-alone ext4-alone
# parallel: 2
#
# `lodestore rehearse` against the daemons with sanitizers, as plug-ins find them: through rpcbind,
# or through the portmapper of lodestore-nfsd (alone). Four hosts clone 100 images in both dialects
# while the daemons are killed in turn; every image checks equal. Then what must be refused, and,
# once, a plug-in's patience with a server that fails in every way (tests/plugin).

. tests/support/step.sh

kind=${1%-*} portmapper=${1#*-}
build=${VAAI_BUILD:-$PWD/build-asan}
if [ -z "${SANDBOX_WORK:-}" ]; then
	sandbox_enter "$(mktemp -d /var/tmp/lodestore-vaai.XXXXXX)" bash "$0" "$@"
	exit
fi

sandbox_setup
work=$SANDBOX_WORK
control=$PWD/tests/support/server-ctl.sh
volume=$work/volume
ds=$volume/ds
volume_mount "$kind" "$volume" 40G
mkdir -p "$ds/tmpl" "$volume/ro" "$volume/private" "$work/state" "$work/nfsd" "$work/offload" \
	/run/lodestore
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1

# 3 MiB of data, and a hole behind it.
image=$ds/tmpl/t-flat.vmdk
head -c 3M /dev/urandom > "$image"
truncate -s 16M "$image"
cp --sparse=always "$image" "$volume/ro/t-flat.vmdk"
sync -f "$volume"

exported()
{
	printf -- '--export\n%s *(rw,no_root_squash,insecure)\n' "$ds"
	printf -- '--export\n%s *(ro,no_root_squash,insecure)\n' "$volume/ro"
	printf -- '--export\n%s 127.0.0.1(rw,no_root_squash,insecure)\n' "$volume/private"
}
{
	printf '%s\n' "$build/nfsd/lodestore-nfsd" --foreground --port 2049
	printf '%s\n' --state-dir "$work/state"
	exported
} > "$work/nfsd/words"
{
	printf '%s\n' "$build/offload/lodestore-offloadd" --foreground
	printf '%s\n' --state-dir "$work/state" --socket /run/lodestore/offload.sock
	exported
} > "$work/offload/words"

daemon() { SERVER_CTL=$work/$1 bash "$control" "$2"; }

if [ "$portmapper" = rpcbind ]; then
	mkdir -p /run/rpcbind
	rpcbind -f > "$work/rpcbind.log" 2>&1 &
	for _ in $(seq 100); do
		! rpcinfo -p 127.0.0.1 > /dev/null 2>&1 || break
		sleep 0.05
	done
fi
daemon nfsd start
daemon offload start

good=0 bad=0
# claim WORDS COMMAND... - it must hold.
claim()
{
	local words=$1

	shift
	if "$@"; then
		good=$((good + 1))
		echo "ok: $words"
	else
		bad=$((bad + 1))
		echo "NOT SO: $words"
	fi
}

# scenario NAME DATASTORE DIALECT - a file of standard input behind the usual head.
scenario()
{
	{
		printf 'server %s\ndatastore %s\ndialect %s\n' "${server:-127.0.0.1}" "$2" "$3"
		cat
	} > "$work/$1"
}

rehearse() { "$build/offload/cli/lodestore" rehearse "$@"; }

# says FILE TEXT... - the output has all of these.
says()
{
	local file=$1 text

	shift
	for text in "$@"; do
		grep -qF -- "$text" "$file" || {
			echo "not said: $text"
			cat "$file"
			return 1
		}
	done
}

# ---- 100 images, the daemons killed meanwhile

fast=fast
[ "$kind" = xfs ] || fast=thin # extents cannot be shared
for dialect in O Q; do
	scenario "many-$dialect" "$ds" "$dialect" << END
hosts 4
poll 200ms
tries 40
support
clone tmpl/t-flat.vmdk to $dialect-thin%n/a-flat.vmdk count 20 thin
clone tmpl/t-flat.vmdk to $dialect-thick%n/a-flat.vmdk count 10 thick
clone tmpl/t-flat.vmdk to $dialect-fast%n/a-flat.vmdk count 20 $fast
END
done

many()
{
	rehearse --verify "$work/many-O" && rehearse --verify "$work/many-Q"
}

# kill_in_turn PID - while it works, the daemons are killed and started; tells how often.
kill_in_turn()
{
	local kills=0 which=nfsd

	while kill -0 "$1" 2> /dev/null && [ "$kills" -lt 6 ]; do
		sleep 0.7
		daemon "$which" kill
		kills=$((kills + 1))
		[ "$which" = nfsd ] && which=offload || which=nfsd
	done
	echo "$kills kills"
	[ "$kills" -ge 4 ]
}

equal_on_disk()
{
	local file count=0

	for file in "$ds"/[OQ]-*/a-flat.vmdk; do
		cmp "$file" "$image" || return 1
		count=$((count + 1))
	done
	[ "$count" -eq 100 ]
}

many > "$work/many.out" 2>&1 &
pid=$!
claim "each daemon was killed twice at least" kill_in_turn "$pid"
status=0
wait "$pid" || status=$?
cat "$work/many.out"
claim "100 clones from 4 hosts are complete and read equal" [ "$status" -eq 0 ]
claim "the 100 files on the disk equal their source" equal_on_disk
rm -r "$ds"/[OQ]-*

# ---- cleaning, aborting, other addresses

before=$(find "$volume" | sort)
# cleaned DIALECT SERVER - everything at once, by another address; nothing is left.
cleaned()
{
	server=$2 scenario all "$ds" "$1" << END
hosts 2 at-once 2
poll 100ms
support
clone tmpl/t-flat.vmdk to a/b/vm%n-flat.vmdk count 4 thick
reserve a/b/vm%n-flat.vmdk count 4
stat a/b/vm%n-flat.vmdk count 4
clone tmpl/t-flat.vmdk to c/vm%n-flat.vmdk count 4 abort after 1ms
END
	rehearse --verify --clean "$work/all" > "$work/all.out" 2>&1 &&
		says "$work/all.out" "clone yes, reserve yes, statistics yes" "16777216 bytes" &&
		[ "$(find "$volume" | sort)" = "$before" ]
}
claim "dialect O by IPv6, and nothing is left" cleaned O ::1
claim "dialect Q by IPv6, and nothing is left" cleaned Q ::1
claim "dialect Q by a name, and nothing is left" cleaned Q localhost

json_is_good()
{
	scenario json "$ds" O <<< "clone tmpl/t-flat.vmdk to j-flat.vmdk"
	rehearse --json --clean --verify "$work/json" > "$work/json.out" &&
		python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))
task, = found["tasks"]
assert task["good"] and task["note"] == "equal" and task["engine"], task
assert found["steps"][0]["good"] == 1 and found["left_behind"] == 0, found' "$work/json.out"
}
claim "--json is JSON, and says what was" json_is_good

# The criterion of a clone's speed: from CREATE to "complete", polling included.
large_is_fast()
{
	local big=$ds/tmpl/big-flat.vmdk

	fallocate -l 16G "$big"
	cp "$image" "$big.part" && dd if="$big.part" of="$big" conv=notrunc status=none
	sync -f "$volume"
	scenario big "$ds" O <<< "clone tmpl/big-flat.vmdk to big%n-flat.vmdk count 5"
	rehearse --json --clean "$work/big" > "$work/big.out"
	rm "$big" "$big.part"
	python3 -c 'import json, sys
step, = json.load(open(sys.argv[1]))["steps"]
assert step["good"] == 5 and step["median_seconds"] < 0.5, step' "$work/big.out"
}
[ "$kind" != xfs ] || claim "a clone of 16 GiB takes less than half a second" large_is_fast

# ---- what must be refused

# refused TEXT - the scenario of standard input fails, saying so; nothing was changed.
refused()
{
	scenario no "$2" O
	! rehearse --clean "$work/no" > "$work/no.out" 2>&1 && says "$work/no.out" "$1" &&
		[ "$(find "$volume" | sort)" = "$before" ]
}
claim "a read-only export takes no clone" refused NFS3ERR_ROFS "$volume/ro" \
	<<< "clone t-flat.vmdk to x-flat.vmdk"
claim "a read-only export takes no reservation" refused NFS3ERR_ROFS "$volume/ro" \
	<<< "reserve t-flat.vmdk"
claim "a host that is not listed mounts nothing" refused NFS3ERR_ACCES "$volume/private" << END
from 127.0.0.2
clone t-flat.vmdk to x-flat.vmdk
END
claim "what is there is not overwritten" refused "overwrites nothing" "$ds" \
	<<< "clone tmpl/t-flat.vmdk to tmpl/t-flat.vmdk"
claim "a source that is not there is said" refused NFS3ERR_NOENT "$ds" \
	<<< "clone tmpl/other.vmdk to x-flat.vmdk"
daemon offload stop
claim "without the sidecar support is no" refused "clone no, reserve no, statistics no" "$ds" << END
support
clone tmpl/t-flat.vmdk to x-flat.vmdk
END
claim "without the sidecar a clone is not supported" says "$work/no.out" NFS3ERR_NOTSUPP

wrong=0
scenario wrong "$ds" O <<< "clon a to b"
rehearse "$work/wrong" > "$work/wrong.out" 2>&1 || wrong=$?
claim "a mistake in a scenario is told with its line" \
	says "$work/wrong.out" "$work/wrong:4: There is no 'clon'. Did you mean 'clone'?"
claim "and has status 2" [ "$wrong" -eq 2 ]

daemon nfsd stop

# ---- against a server that fails

python=$(pytest_python)
if [ "$1" = xfs-alone ]; then
	LODESTORE=$build/offload/cli/lodestore "$python" -m pytest -q -p no:cacheprovider \
		--junit-xml="$work/junit.xml" tests/plugin/test_rehearse.py ||
		bad=$((bad + 1))
	count_results "$work/junit.xml"
fi
for log in "$work"/*/log "$work"/*.out; do
	if grep -qE 'Sanitizer|runtime error|Assertion' "$log"; then
		grep -nE -A 40 'Sanitizer|runtime error|Assertion' "$log" | head -n 80
		bad=$((bad + 1))
	fi
done
count_add "$good" "$bad"
[ "$bad" -eq 0 ]
