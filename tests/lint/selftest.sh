#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# selftest.sh - do the lints refuse what they must, and pass what they must?
#
# Each case writes one file into an empty tree, runs one lint on it and looks for a word of the
# message that should come; with an empty word the lint must pass.

set -euo pipefail

lints=$(realpath "$(dirname "$0")")
tree=$(mktemp -d) more=$(mktemp -d)
trap 'rm -rf "$tree" "$more"' EXIT
passed=0 failed=0

# beside FILE - a further file for the next case; standard input is its text.
beside()
{
	mkdir -p "$(dirname "$more/$1")"
	cat > "$more/$1"
}

# expect LINT FILE WORD - standard input is the file's text.
expect()
{
	local lint=$1 file=$2 word=$3 output status=0

	rm -rf "${tree:?}"/*
	cp -a "$lints/../../.clang-format" "$more/." "$tree/"
	rm -rf "${more:?}"/*
	mkdir -p "$(dirname "$tree/$file")"
	cat > "$tree/$file"
	output=$("$lints/$lint.sh" "$tree" 2>&1) || status=$?
	if [ "$status" -eq 77 ]; then
		echo "SKIP $lint: $output"
	elif [ -z "$word" ] && [ "$status" -eq 0 ]; then
		passed=$((passed + 1))
	elif [ -n "$word" ] && [ "$status" -eq 1 ] && [[ $output == *"$word"* ]]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAIL %s on %s: expected %s, got status %d and:\n%s\n' \
			"$lint" "$file" "${word:-a pass}" "$status" "$output"
	fi
}

lines() { yes "$1" | head -n "$2" || true; }

spdx='/* SPDX-License-Identifier: Apache-2.0 */'

expect check-includes vfs/x.c "may not include 'rpcgen/record.h'" <<< '#include "rpcgen/record.h"'
expect check-includes rpcgen/x.c "may not include 'vfs/vfs.h'" <<< '#include "vfs/vfs.h"'
expect check-includes vfs/base/x.c "may not include 'vfs/io/ring.h'" <<< '#include "vfs/io/ring.h"'
expect check-includes vfs/io/x.c "may not include 'vfs/vfs.h'" <<< '#include "vfs/vfs.h"'
expect check-includes vfs/x.h "may not include 'nfs3.h'" <<< '#include "nfs3.h"'
expect check-includes nfsd/x.c "may not include 'offload/jobs.h'" <<< '#include "offload/jobs.h"'
expect check-includes offload/x.c "may not include 'nfsd/conn.h'" <<< '#include "nfsd/conn.h"'
expect check-includes nfsd/x.c 'climbs out' <<< '#include "../vfs/vfs.h"'
expect check-includes vfs/io/pool.c 'only vfs/io/ring.c' <<< '#include <liburing.h>'
expect check-includes tests/unit/x.c 'only vfs/io/ring.c' <<< '#	include <liburing.h>'
expect check-includes vfs/io/x.c 'knows nothing of RPC' <<< '#include <rpc/xdr.h>'
expect check-includes vfs/io/ring.c '' <<< '#include <liburing.h>'
expect check-includes rpcgen/x.c '' <<< '#include <rpc/xdr.h>'
expect check-includes nfsd/x.c '' <<< '#include "vfs/vfs.h"'
expect check-includes nfsd/x.c '' <<< '#include "offload/offload_proto.h"'
expect check-includes tests/unit/x.c '' <<< '#include "nfsd/conn.h"'

function_of() { echo 'int x(void)'; echo '{'; lines '	y();' "$1"; echo '}'; }

expect check-length nfsd/x.c 'this function has 71 lines' < <(function_of 71)
expect check-length nfsd/x.c '' < <(function_of 70)
expect check-length nfsd/x.c '' < <(echo 'int x[] = {'; lines '	1,' 90; echo '};')
expect check-length nfsd/x.c 'over 600 lines' < <(lines '' 601)
expect check-length nfsd/x.h 'over 150 lines' < <(lines '' 151)
expect check-length nfsd/x.h '' < <(lines '' 150)
expect check-length tests/x.sh 'over 400 lines' < <(echo '#!/bin/bash'; lines : 400)

expect check-spdx nfsd/x.c 'no licence line' <<< 'int x;'
expect check-spdx nfsd/x.c '' <<< "$spdx"
expect check-spdx meson.build 'no licence line' <<< 'x = 1'
expect check-spdx tests/run 'no licence line' <<< '#!/bin/bash'

expect check-style nfsd/x.c '101 columns' <<< "$(printf '%101s' x)"
expect check-style nfsd/x.c '101 columns' <<< "$(printf '\t%93s' x)"
expect check-style nfsd/x.c '' <<< "$(printf '\t%92s' x)"
expect check-style nfsd/x.c 'blanks at the end' <<< 'int x; '
expect check-style nfsd/x.c 'a leftover note' <<< '/* FIX''ME */'
expect check-style tests/x.py 'a leftover note' <<< '# TO''DO: later'
expect check-style tests/x.sh '' <<< 'mktemp /tmp/a.XXXX''XX'
for name in strcpy sprintf strcat alloca atoi gets strtok clnt_sperror; do
	expect check-style nfsd/x.c "$name is banned" <<< "	y = $name(x);"
done
expect check-style nfsd/x.c '' <<< '	y = snprintf(x, sizeof x, "%d", fgets(z));'

expect check-format nfsd/x.c 'clang-format -i nfsd/x.c' <<< 'int x( void ){return 1;}'
expect check-format nfsd/x.c '' <<< 'int x;'

# shellcheck disable=SC2016 # the file's text, not ours
expect check-shell tests/x.sh 'SC2086' <<< $'#!/bin/bash\nrm $1/*'
expect check-shell tests/x.sh '' <<< '#!/bin/bash'

expect check-man packaging/man/x.8 "macro" <<< $'.TH X 8\n.SH NAME\nx \\- y\n.XY nonsense'

program() { printf '#!/bin/sh\necho "%s"\n' "$1" > "$more/server"; chmod +x "$more/server"; }
page() { printf '.TH X 8 2026-11-30\n.SH NAME\nx \\- y\n.SH OPTIONS\n.TP\n.B %s\nZ.\n' "$1"; }

export LODESTORE_BIN=.
program '--port N'
expect check-man packaging/man/server.8 '' < <(page '\-\-port')
program '--port N --listen A'
expect check-man packaging/man/server.8 'OPTIONS lacks --listen' < <(page '\-\-port')
program '--listen A'
expect check-man packaging/man/server.8 '--gone is not in' < <(page '\-\-listen\n.TP\n.B \-\-gone')

conf_page() { printf '.SH "[nfsd]"\n.TP\n.BI %s " A"\nText.\n' "$1"; }
row='	{ "nfsd", "pool-threads", CONF_NUMBER },'
packaged='packaging/default/lodestore.conf'
conf_page 'pool\-threads' | beside packaging/man/lodestore.conf.5
printf '[nfsd]\n#pool-threads = 1\n' | beside $packaged
expect check-conf-man nfsd/config.c '' <<< "$row"
conf_page 'pool\-threads' | beside packaging/man/lodestore.conf.5
printf '[nfsd]\n' | beside $packaged
expect check-conf-man nfsd/config.c "$packaged:1: 'pool-threads' of [nfsd] is missing" <<< "$row"
conf_page 'threads' | beside packaging/man/lodestore.conf.5
printf '[nfsd]\n#pool-threads = 1\n' | beside $packaged
expect check-conf-man nfsd/config.c "'threads' of [nfsd] is not in nfsd/config.c" <<< "$row"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
