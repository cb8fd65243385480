/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/base/privileges.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "vfs/base/cleanup.h"

static void caps_free(cap_t *caps)
{
	if (*caps)
		(void) cap_free(*caps);
}

static bool has(cap_t caps, cap_value_t value, cap_flag_t flag)
{
	cap_flag_value_t is = CAP_CLEAR;

	return cap_get_flag(caps, value, flag, &is) == 0 && is == CAP_SET;
}

static void say_missing(const struct privilege *privilege, char *missing, size_t bytes_max)
{
	size_t used = strlen(missing);

	(void) snprintf(missing + used, bytes_max - used, "%s%s (%s)", used ? ", " : "",
	                privilege->name, privilege->without);
}

/* Without CAP_SETPCAP, as a unit's user, it is what the unit made it. */
static int bound(cap_t now, cap_t kept)
{
	if (!has(now, CAP_SETPCAP, CAP_EFFECTIVE))
		return 0;
	for (cap_value_t value = 0; prctl(PR_CAPBSET_READ, value, 0, 0, 0) >= 0; value++)
		if (!has(kept, value, CAP_PERMITTED) && prctl(PR_CAPBSET_DROP, value, 0, 0, 0) < 0)
			return -errno;
	return 0;
}

int privileges_keep(const struct privilege *privileges, size_t count, char *reterr_missing,
                    size_t missing_bytes_max)
{
	AUTO(caps_free) cap_t now = cap_get_proc();
	AUTO(caps_free) cap_t kept = cap_init();
	int r;

	if (!now || !kept)
		return -errno;
	reterr_missing[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		cap_value_t value = privileges[i].capability;

		if (has(now, value, CAP_PERMITTED)) {
			if (cap_set_flag(kept, CAP_PERMITTED, 1, &value, CAP_SET) < 0 ||
			    cap_set_flag(kept, CAP_EFFECTIVE, 1, &value, CAP_SET) < 0)
				return -errno;
		} else if (!privileges[i].optional) {
			say_missing(&privileges[i], reterr_missing, missing_bytes_max);
		}
	}
	if (reterr_missing[0])
		return -EPERM;
	r = bound(now, kept);
	if (r == 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	               prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	               cap_set_proc(kept) < 0))
		r = -errno;
	return r;
}
