/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/base/confine.h"

#include <errno.h>
#include <seccomp.h>

#include "vfs/base/cleanup.h"

const char *const confine_mode_words[] = { "refuse", "kill", "log", "off", NULL };

static uint32_t action(enum confine_mode mode)
{
	switch (mode) {
	case CONFINE_KILL:
		return SCMP_ACT_KILL_PROCESS;
	case CONFINE_LOG:
		return SCMP_ACT_LOG;
	default:
		return SCMP_ACT_ERRNO(EPERM);
	}
}

static int allow(scmp_filter_ctx filter, const struct confine_call *call)
{
	int number = seccomp_syscall_resolve_name(call->name);

	if (number == __NR_SCMP_ERROR) /* newer than libseccomp */
		return 0;
	if (!call->mask)
		return seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	return seccomp_rule_add(
		filter, SCMP_ACT_ALLOW, number, 1,
		SCMP_CMP64(call->argument, SCMP_CMP_MASKED_EQ, call->mask, call->value));
}

static int allow_all(scmp_filter_ctx filter, const struct confine_call *calls, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = allow(filter, &calls[i]);
	return r;
}

static int load(scmp_filter_ctx filter, const struct confine_call *calls, size_t count)
{
	int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);

	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE,
		                     2); /* a tree, no long walk */
	if (r == 0)
		r = allow_all(filter, confine_common, confine_common_count);
	if (r == 0)
		r = allow_all(filter, calls, count);
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return r < 0 ? r : seccomp_load(filter);
}

int confine_calls(const struct confine_call *calls, size_t count, enum confine_mode mode)
{
	scmp_filter_ctx filter;
	int r;

	if (mode == CONFINE_OFF)
		return 0;
	filter = seccomp_init(action(mode));
	if (!filter)
		return -ENOMEM;
	r = load(filter, calls, count);
	seccomp_release(filter);
	return r;
}
