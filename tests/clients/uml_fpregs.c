/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uml_fpregs.so - preloaded into user-mode Linux so that it runs on CPUs with a large XSAVE area.
 *
 * Linux 6.1's user-mode port keeps a process's floating point registers in a buffer of 2696 bytes:
 * x87, SSE, AVX, AVX-512 and PKRU. A CPU with AMX has 11008 bytes, and PTRACE_SETREGSET refuses
 * less than all of them (EFAULT), whereupon the kernel panics at its first process. So the set is
 * padded to the full size here, with the components that did not fit marked as not in use: no
 * guest process can have enabled them.
 *
 * ptrace() is replaced as a whole because that is the symbol the program calls; all other requests
 * pass through with the C library's convention for PTRACE_PEEK*.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	XSAVE_BYTES_MAX = 32768,
	XSAVE_HEADER_OFFSET = 512, /* holds XSTATE_BV, the components in use */
};

#define XSTATE_AMX (UINT64_C(3) << 17)

static char area[XSAVE_BYTES_MAX] __attribute__((aligned(64)));

/* The kernel's own size of the register set, 0 if it cannot be told. */
static size_t full_bytes(long pid)
{
	static size_t known_bytes;
	struct iovec get = { area, sizeof area };

	if (known_bytes == 0 &&
	    syscall(SYS_ptrace, PTRACE_GETREGSET, pid, NT_X86_XSTATE, &get) == 0)
		known_bytes = get.iov_len;
	return known_bytes;
}

static long set_padded(long pid, const struct iovec *registers, size_t set_bytes)
{
	struct iovec set = { area, set_bytes };
	uint64_t in_use;

	memcpy(area, registers->iov_base, registers->iov_len);
	memset(area + registers->iov_len, 0, set_bytes - registers->iov_len);
	memcpy(&in_use, area + XSAVE_HEADER_OFFSET, sizeof in_use);
	in_use &= ~XSTATE_AMX;
	memcpy(area + XSAVE_HEADER_OFFSET, &in_use, sizeof in_use);
	return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, NT_X86_XSTATE, &set);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list arguments;
	long pid, address, peeked, r;
	void *data;

	va_start(arguments, request);
	pid = va_arg(arguments, pid_t);
	address = va_arg(arguments, long);
	data = va_arg(arguments, void *);
	va_end(arguments);

	if (request == PTRACE_SETREGSET && address == NT_X86_XSTATE) {
		const struct iovec *registers = data;

		if (registers->iov_len < full_bytes(pid))
			return set_padded(pid, registers, full_bytes(pid));
	}
	if (request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER) {
		r = syscall(SYS_ptrace, request, pid, address, &peeked);
		if (r == 0)
			errno = 0;
		return r == 0 ? peeked : r;
	}
	return syscall(SYS_ptrace, request, pid, address, data);
}
