#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# systemd.sh DEBS BASE - for install.sh, in its sandbox: the packages in the folder DEBS under a
# real systemd, in an overlay of the clean Debian BASE that systemd-nspawn boots: the units as they
# are, with all they forbid. What they serve is used over the wire; restarts and a kill refuse
# nobody.
#
# A machine on which systemd-nspawn does not boot is told, and is no failure.

set -euo pipefail

cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/serve.sh
. tests/support/serve.sh

debs=$1 base=$2 root=$SANDBOX_WORK/root
log=$root/root/try.log

die()
{
	printf 'FAILED: %s\n' "$1"
	cat "$log" 2> /dev/null || tail -n 20 "$SANDBOX_WORK"/*.log
	exit 1
}

root_make()
{
	mkdir -p "$SANDBOX_WORK/layer" "$root" "$SANDBOX_WORK/srv/lab"
	mount -t tmpfs -o size=2g layer "$SANDBOX_WORK/layer"
	mkdir "$SANDBOX_WORK/layer/upper" "$SANDBOX_WORK/layer/work"
	mount -t overlay -o "lowerdir=$base,upperdir=$SANDBOX_WORK/layer/upper,\
workdir=$SANDBOX_WORK/layer/work" overlay "$root"
	cp -L /etc/resolv.conf "$root/etc/" 2> /dev/null || true
	cp "$debs"/*.deb "$root/root/"
	mount -t proc proc "$root/proc"
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends \
			systemd-sysv /root/*.deb' > "$SANDBOX_WORK/apt.log" 2>&1 ||
		die "the packages cannot be installed"
	umount "$root/proc"
	# A system call that a filter lacks ends the daemon here, instead of failing unseen.
	sed -i 's/^#seccomp = refuse$/seccomp = kill/' "$root/etc/lodestore/lodestore.conf"
	[ "$(grep -c '^seccomp = kill$' "$root/etc/lodestore/lodestore.conf")" -eq 2 ] ||
		die "lodestore.conf has no seccomp to change in both sections"
	echo '/srv/lab 127.0.0.0/8(rw,no_root_squash,fsid=7)' >> "$root/etc/lodestore/exports"
	head -c 1M /dev/urandom > "$SANDBOX_WORK/srv/lab/a"
}

# What is done inside, by a service that the boot starts; its log ends with DONE.
trial_make()
{
	cat > "$root/root/try.sh" << 'END'
#!/bin/sh
exec > /root/try.log 2>&1
claim() { what=$1; shift; if "$@"; then echo "ok: $what"; else echo "NOT SO: $what"; fi; }
units='lodestore-nfsd lodestore-offloadd'
# Not one is-active for both: it is content with either.
run_both() { systemctl is-active -q lodestore-nfsd && systemctl is-active -q lodestore-offloadd; }
# within COMMAND... - it succeeds within a minute.
within()
{
	tries=300
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.2
	done
}
claim "both run" within run_both
claim "the sidecar answers" within lodestore jobs 127.0.0.1:
claim "the server is well" lodestore status --check --warn-space 0% --crit-space 0%
claim "a clone through both" lodestore clone 127.0.0.1:/srv/lab/a 127.0.0.1:/srv/lab/b
claim "is equal" cmp /srv/lab/a /srv/lab/b
claim "a checksum" lodestore checksum 127.0.0.1:/srv/lab/b
claim "locks are asked for" lodestore locks
claim "a reload" lodestore reload
touch /srv/working
while [ ! -e /srv/served ]; do sleep 0.1; done
for n in 1 2 3; do
	claim "restart $n" systemctl restart lodestore-nfsd
	sleep 1
done
systemctl kill -s KILL --kill-who=main lodestore-nfsd
sleep 0.5
claim "it comes back after a kill" within lodestore status
claim "the sidecar restarts" systemctl restart lodestore-offloadd
claim "and serves" within lodestore jobs 127.0.0.1:
claim "both stop" systemctl stop $units
journalctl --no-pager -b -u lodestore-nfsd -u lodestore-offloadd | grep -v 'SIGKILL to process'
journalctl --no-pager -b -k | grep 'type=1326' && echo "NOT SO: no system call was refused"
echo DONE
END
	chmod +x "$root/root/try.sh"
	cat > "$root/etc/systemd/system/try.service" << 'END'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/root/try.sh
ExecStopPost=/bin/systemctl poweroff
[Install]
WantedBy=graphical.target
END
	chroot "$root" systemctl enable try.service 2> /dev/null
}

boot()
{
	timeout 400 systemd-nspawn --quiet --directory="$root" --register=no --keep-unit \
		--machine=lodestore-test --resolv-conf=off --bind="$SANDBOX_WORK/srv:/srv" \
		--capability=CAP_MKNOD --system-call-filter="open_by_handle_at io_uring_setup \
			io_uring_enter io_uring_register" --boot \
		> "$SANDBOX_WORK/boot.log" 2>&1 < /dev/null
}

# wait_for FILE SECONDS - until it is there, or the boot has ended.
wait_for()
{
	local tries=$(($2 * 10))

	until [ -e "$1" ]; do
		tries=$((tries - 1))
		kill -0 "$boot" 2> /dev/null && [ "$tries" -gt 0 ] || return 1
		sleep 0.1
	done
}

if [ -z "${3:-}" ]; then
	root_make
	trial_make
	exec unshare --net "$0" "$debs" "$base" booting # packages came over the network; now none
fi
ip link set lo up
boot &
boot=$!
wait_for "$log" 120 || {
	echo "SKIP: systemd-nspawn does not boot here: $(tail -n 1 "$SANDBOX_WORK/boot.log")"
	exit 0
}
wait_for "$SANDBOX_WORK/srv/working" 120 || die "it does not get to work"
python3 -B tests/clients/wire_check.py --port 2049 --export /srv/lab --offload \
	> "$SANDBOX_WORK/wire.log" || die "what runs under systemd does not serve"
touch "$SANDBOX_WORK/srv/served"
python3 -B tests/deb/restart_client.py 2049 "$log" || die "somebody was refused"
wait "$boot" || true
grep -q '^DONE$' "$log" || die "it did not come to its end"
! grep '^NOT SO' "$log" || die "the above does not hold under systemd"
grep -c '^ok:' "$log" | sed 's/$/ claims hold under systemd/'
