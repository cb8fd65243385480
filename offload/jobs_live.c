/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/jobs_internal.h"
#include "vfs/base/cleanup.h"

unsigned jobs_live(struct jobs *jobs, struct job_record *to, unsigned max,
                   struct jobs_live *ret_live)
{
	unsigned count = 0;

	*ret_live = (struct jobs_live){ 0 };
	pthread_mutex_lock(&jobs->lock);
	list_for_each (node, &jobs->all) {
		const struct job *job = container_of(node, struct job, node);

		if (!job_is_live(&job->record))
			continue;
		if (job->record.state == OFFLOAD_STATE_QUEUED)
			ret_live->queued++;
		else
			ret_live->running++;
		if (count < max)
			job_copy(job, &to[count++]);
	}
	pthread_mutex_unlock(&jobs->lock);
	return count;
}
