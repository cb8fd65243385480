/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine_common.c - the calls that both daemons make, and why where it is not plain.
 *
 * Names that a kernel or an architecture does not have are passed over, so the list is that of all
 * systems we run on (open and openat, stat and newfstatat).
 */
#include "vfs/base/confine.h"

#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "vfs/base/cleanup.h"

const struct confine_call confine_common[] = {
	/* Memory: never writable and executable at once. Code may still be mapped: the C library
	 * loads what resolves names (NSS) when the first name is asked for. */
	{ "brk" },
	{ "mmap", 2, PROT_EXEC, 0 },
	{ "mmap", 2, PROT_WRITE, 0 },
	{ "mprotect", 2, PROT_EXEC, 0 },
	{ "munmap" },
	{ "mremap" },
	{ "madvise" },

	/* Threads, and no processes. clone3, whose flags cannot be looked at, is answered ENOSYS,
	 * and the C library takes clone (confine.c). */
	{ "clone", 0, CLONE_THREAD, CLONE_THREAD },
	{ "set_robust_list" },
	{ "rseq" },
	{ "futex" },
	{ "sched_yield" },
	{ "sched_getaffinity" }, /* how many threads a file system's share is */
	{ "prctl", 0, CONFINE_INT, PR_SET_NAME },
	{ "gettid" },
	{ "exit" },
	{ "exit_group" },

	/* Signals: SIGTERM and SIGHUP, and an assertion's end. */
	{ "rt_sigaction" },
	{ "rt_sigprocmask" },
	{ "rt_sigreturn" },
	{ "rt_sigtimedwait" },
	{ "restart_syscall" },
	{ "getpid" },
	{ "tgkill" },

	/* Time; all but sleeping is done without a call where the vDSO can. */
	{ "clock_gettime" },
	{ "clock_getres" },
	{ "clock_nanosleep" },
	{ "gettimeofday" },
	{ "time" },

	{ "getrandom" },
	{ "uname" },
	{ "prlimit64" }, /* how many descriptors there may be */

	/* Acting as the caller (vfs/identity.c). */
	{ "setgroups" },
	{ "setfsuid" },
	{ "setfsgid" },
	{ "capget" },
	{ "capset" },
	{ "getuid" },
	{ "geteuid" },
	{ "getgid" },
	{ "getegid" },

	/* Descriptors. */
	{ "read" },
	{ "readv" },
	{ "pread64" },
	{ "write" },
	{ "writev" },
	{ "pwrite64" },
	{ "close" },
	{ "dup" }, /* is there a descriptor left? */
	{ "dup3" },
	{ "fcntl" },
	{ "lseek" },
	{ "poll" },
	{ "ppoll" },
	{ "io_uring_enter" },

	/* Files by handle: what serving NFS is (CAP_DAC_READ_SEARCH). */
	{ "open_by_handle_at" },
	{ "name_to_handle_at" },

	/* Files by name: of the exports, and the configuration at a reload. */
	{ "open" },
	{ "openat" },
	{ "openat2" },
	{ "stat" },
	{ "lstat" },
	{ "fstat" },
	{ "newfstatat" },
	{ "fstatat64" },
	{ "statx" },
	{ "statfs" },
	{ "fstatfs" },
	{ "access" },
	{ "faccessat" },
	{ "faccessat2" },
	{ "readlink" },
	{ "readlinkat" },
	{ "getdents64" },
	{ "fgetxattr" }, /* does it have an access list? */
	{ "mkdirat" },
	{ "mknodat" },
	{ "symlinkat" },
	{ "linkat" },
	{ "unlink" }, /* our sockets, at the end */
	{ "unlinkat" },
	{ "rename" },
	{ "renameat" },
	{ "renameat2" },
	{ "fchmod" },
	{ "fchmodat" },
	{ "fchmodat2" },
	{ "fchown" },
	{ "fchownat" },
	{ "utimensat" },
	{ "ftruncate" },
	{ "fallocate" },
	{ "fsync" },
	{ "fdatasync" },
	{ "syncfs" },

	/* The service manager's socket, and the other daemon's: each daemon says which families. */
	{ "connect" },
	{ "sendto" },
	{ "sendmsg" },
	{ "recvfrom" },
	{ "recvmsg" },
	{ "getsockopt" },
	{ "setsockopt" },
	{ "getsockname" },
	{ "getpeername" },
	{ "shutdown" },
	{ "accept" },
	{ "accept4" },

#ifdef LODESTORE_SANITIZED
	/* Only in builds with sanitizers: the search for leaks at the end is a process that stops
	 * our threads and looks at them; reports are made with /proc and a symbolizer. */
	{ "clone" },
	{ "ptrace" },
	{ "getdents" },
	{ "wait4" },
	{ "fork" },
	{ "execve" },
	{ "pipe" },
	{ "pipe2" },
	{ "dup2" },
	{ "kill" },
	{ "prctl" },
	{ "personality" },
	{ "sigaltstack" },
	{ "getrusage" },
	{ "getppid" },
	{ "mprotect" },
	{ "mmap" },
	{ "sched_getparam" },
	{ "sched_getscheduler" },
	{ "process_vm_readv" },
	{ "getcwd" },
	{ "arch_prctl" },
	{ "nanosleep" },
	{ "tkill" },
	{ "ioctl" },
#endif
};

const size_t confine_common_count = ARRAY_COUNT(confine_common);
