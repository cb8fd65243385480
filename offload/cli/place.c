/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(const char **reterr_why, const char *why)
{
	*reterr_why = why;
	return -EINVAL;
}

/* What stands before the colon, if there is a host; @text moves behind it. */
static int take_host(const char **text, struct place *place, const char **reterr_why)
{
	const char *begin = *text, *end;

	if (begin[0] == '[') {
		end = strchr(++begin, ']');
		if (!end || end[1] != ':')
			return refuse(reterr_why, "write an IPv6 address as [ADDRESS]:/path");
		*text = end + 2;
	} else {
		end = begin + strcspn(begin, ":/");
		if (*end != ':')
			return 0;
		*text = end + 1;
		if ((*text)[strcspn(*text, ":/")] == ':')
			return refuse(reterr_why, "write an IPv6 address as [ADDRESS]:/path");
	}
	if (end == begin)
		return refuse(reterr_why, "there is no host before the ':'");
	if (end - begin >= PLACE_HOST_BYTES)
		return refuse(reterr_why, "the host's name is too long");
	memcpy(place->host, begin, (size_t) (end - begin));
	return 0;
}

static bool climbs(const char *path)
{
	for (const char *name = path; *name; name += strspn(name, "/")) {
		size_t bytes = strcspn(name, "/");

		if (bytes == 2 && memcmp(name, "..", 2) == 0)
			return true;
		name += bytes;
	}
	return false;
}

static int take_path(const char *text, const char *here, struct place *place,
                     const char **reterr_why)
{
	int bytes;

	if (text[0] == '/')
		bytes = snprintf(place->path, sizeof place->path, "%s", text);
	else if (place->host[0])
		return refuse(reterr_why, "what follows 'HOST:' is a path that begins with /, as"
		                          " hosts mount it, or the number of a job");
	else if (!here)
		return refuse(reterr_why, "a path begins with /, or with HOST:/");
	else
		bytes = snprintf(place->path, sizeof place->path, "%s/%s",
		                 strcmp(here, "/") == 0 ? "" : here, text);
	if (bytes >= (int) sizeof place->path)
		return refuse(reterr_why, "the path is longer than 1024 bytes");
	if (climbs(place->path))
		return refuse(reterr_why, "the server follows no '..': write the path without");
	place->kind = PLACE_FILE;
	return 0;
}

static int take_job(const char *text, struct place *place, const char **reterr_why)
{
	errno = 0;
	place->job_id = strtoull(text, NULL, 10);
	if (errno || place->job_id == 0)
		return refuse(reterr_why, "no job has such a number: 'lodestore jobs' lists them");
	place->kind = PLACE_JOB;
	return 0;
}

int place_parse(const char *text, const char *here, struct place *ret_place,
                const char **reterr_why)
{
	struct place place = { 0 };
	int r = take_host(&text, &place, reterr_why);

	if (r < 0)
		return r;
	if (!text[0] && !place.host[0])
		return refuse(reterr_why, "it is empty");
	if (!text[0])
		place.kind = PLACE_SERVER;
	else if (!text[strspn(text, "0123456789")])
		r = take_job(text, &place, reterr_why);
	else
		r = take_path(text, here, &place, reterr_why);
	if (r == 0)
		*ret_place = place;
	return r;
}

offload_file place_file(struct place *place)
{
	return (offload_file){
		.kind = OFFLOAD_FILE_PATH,
		.offload_file_u.path = { (u_int) strlen(place->path), place->path },
	};
}

offload_which place_which(struct place *place)
{
	if (place->kind == PLACE_JOB)
		return (offload_which){ OFFLOAD_WHICH_ID, { .id = place->job_id } };
	return (offload_which){ OFFLOAD_WHICH_FILE, { .file = place_file(place) } };
}
