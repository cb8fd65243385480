/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of exports: owns the specs, finds them by path (for clients and for the parser) and by
 * fsid (for the parser).
 *
 * A path's hash is taken component by component, so that exports_find_path() has the hash of each
 * ancestor on its way down and looks each up in constant time, however many exports there are.
 */
#include "vfs/exports.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/base/cleanup.h"
#include "vfs/exports_parser.h"

enum {
	INDEX_SLOTS_MIN = 64,
	SPECS_MIN = 16,
};

/* FNV-1a, 64 bits. The administrator chose what is in the table: no collisions by enemies. */
static const uint64_t hash_basis = 0xcbf29ce484222325;
static const uint64_t hash_prime = 0x100000001b3;

/* --- paths --- */

/* Goes on to the next component of @at..@end: its start, or NULL at the end. */
static const char *component_next(const char *at, const char *end, size_t *ret_bytes)
{
	const char *component;

	while (at < end && *at == '/')
		at++;
	component = at;
	while (at < end && *at != '/')
		at++;
	*ret_bytes = (size_t) (at - component);
	return at > component ? component : NULL;
}

static bool component_is(const char *component, size_t bytes, const char *name)
{
	return bytes == strlen(name) && memcmp(component, name, bytes) == 0;
}

static uint64_t hash_component(uint64_t hash, const char *component, size_t bytes)
{
	hash = (hash ^ '/') * hash_prime;
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char) component[i]) * hash_prime;
	return hash;
}

/* Does @at..@end, slashes doubled or not, have the components of @path, which is normalised? */
static bool path_equals(const char *path, const char *at, const char *end)
{
	const char *component;
	size_t bytes;

	if (path[1] == '\0')
		path++; /* "/" has no components */
	while ((component = component_next(at, end, &bytes))) {
		if (*path != '/' || strncmp(path + 1, component, bytes) != 0)
			return false;
		path += 1 + bytes;
		at = component + bytes;
	}
	return *path == '\0';
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

bool exports_unescape(char *text)
{
	char *to = text;
	int byte;

	for (const char *from = text; *from; to++) {
		if (*from != '\\') {
			*to = *from++;
			continue;
		}
		if (from[1] < '0' || from[1] > '3' || !is_octal(from[2]) || !is_octal(from[3]))
			return false;
		byte = (from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0');
		if (byte == 0)
			return false;
		*to = (char) byte;
		from += 4;
	}
	*to = '\0';
	return true;
}

bool export_path_normalise(char *path)
{
	const char *end = path + strlen(path), *at = path, *component;
	char *to = path;
	size_t bytes;

	assert(*path == '/');
	while ((component = component_next(at, end, &bytes))) {
		at = component + bytes;
		if (component_is(component, bytes, ".."))
			return false;
		if (component_is(component, bytes, "."))
			continue;
		*to++ = '/';
		memmove(to, component, bytes);
		to += bytes;
	}
	if (to == path)
		to++; /* "/" itself */
	*to = '\0';
	return true;
}

/* --- indices --- */

static uint64_t path_hash(const char *path)
{
	const char *end = path + strlen(path), *at = path, *component;
	uint64_t hash = hash_basis;
	size_t bytes;

	while ((component = component_next(at, end, &bytes))) {
		hash = hash_component(hash, component, bytes);
		at = component + bytes;
	}
	return hash;
}

static uint64_t fsid_hash(uint32_t fsid)
{
	return hash_component(hash_basis, (const char *) &fsid, sizeof fsid);
}

/* Low bits of FNV-1a depend on low bits only: fold. */
static size_t index_slot(const struct export_index *index, uint64_t hash)
{
	return (size_t) (hash ^ hash >> 32) & (index->slot_count - 1);
}

static size_t index_slot_next(const struct export_index *index, size_t slot)
{
	return (slot + 1) & (index->slot_count - 1);
}

static void index_insert(struct export_index *index, uint64_t hash, uint32_t number)
{
	size_t slot = index_slot(index, hash);

	while (index->slots[slot])
		slot = index_slot_next(index, slot);
	index->slots[slot] = number;
}

static uint64_t path_hash_of(const struct export_spec *spec)
{
	return path_hash(spec->path);
}

static uint64_t fsid_hash_of(const struct export_spec *spec)
{
	return fsid_hash(spec->fsid);
}

/* Makes @index good for one spec more than the table has. */
static int index_reserve(const struct exports *exports, struct export_index *index,
                         uint64_t (*hash_of)(const struct export_spec *spec))
{
	struct export_index wider = {
		.slot_count = index->slot_count ? index->slot_count * 2 : INDEX_SLOTS_MIN,
	};

	if ((exports->count + 1) * 2 < index->slot_count)
		return 0;
	wider.slots = calloc(wider.slot_count, sizeof *wider.slots);
	if (!wider.slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->slot_count; i++) {
		uint32_t number = index->slots[i];

		if (number)
			index_insert(&wider, hash_of(&exports->specs[number - 1]), number);
	}
	free(index->slots);
	*index = wider;
	return 0;
}

static struct export_spec *find_hashed(const struct exports *exports, uint64_t hash,
                                       const char *path, const char *end)
{
	const struct export_index *index = &exports->by_path;
	struct export_spec *spec;

	if (index->slot_count == 0)
		return NULL;
	for (size_t slot = index_slot(index, hash); index->slots[slot];
	     slot = index_slot_next(index, slot)) {
		spec = &exports->specs[index->slots[slot] - 1];
		if (path_equals(spec->path, path, end))
			return spec;
	}
	return NULL;
}

struct export_spec *exports_find_exact(const struct exports *exports, const char *path)
{
	return find_hashed(exports, path_hash(path), path, path + strlen(path));
}

struct export_spec *exports_find_fsid(const struct exports *exports, uint32_t fsid)
{
	const struct export_index *index = &exports->by_fsid;
	struct export_spec *spec;

	if (index->slot_count == 0)
		return NULL;
	for (size_t slot = index_slot(index, fsid_hash(fsid)); index->slots[slot];
	     slot = index_slot_next(index, slot)) {
		spec = &exports->specs[index->slots[slot] - 1];
		if (spec->fsid == fsid)
			return spec;
	}
	return NULL;
}

const struct export_spec *exports_find_path(const struct exports *exports, const char *path,
                                            const char **ret_below)
{
	const char *at = path, *end = path + strlen(path), *component;
	const struct export_spec *spec, *found;
	const char *below = path;
	uint64_t hash = hash_basis;
	size_t bytes;

	found = find_hashed(exports, hash, path, path);
	while ((component = component_next(at, end, &bytes))) {
		at = component + bytes;
		if (component_is(component, bytes, ".") || component_is(component, bytes, ".."))
			return NULL;
		hash = hash_component(hash, component, bytes);
		spec = find_hashed(exports, hash, path, at);
		if (spec) {
			found = spec;
			below = at;
		}
	}
	if (!found)
		return NULL;
	*ret_below = below + strspn(below, "/");
	return found;
}

/* --- the table --- */

int exports_reserve(struct exports *exports)
{
	struct export_spec *specs;
	size_t wider_count;
	int r;

	assert(exports->count < EXPORTS_MAX);
	/* Full at each power of two, and only there. */
	if (exports->count == 0 ||
	    (exports->count >= SPECS_MIN && (exports->count & (exports->count - 1)) == 0)) {
		wider_count = exports->count ? exports->count * 2 : SPECS_MIN;
		specs = reallocarray(exports->specs, wider_count, sizeof *specs);
		if (!specs)
			return -ENOMEM;
		exports->specs = specs;
	}
	r = index_reserve(exports, &exports->by_path, path_hash_of);
	if (r < 0)
		return r;
	return index_reserve(exports, &exports->by_fsid, fsid_hash_of);
}

void exports_add(struct exports *exports, const struct export_spec *spec)
{
	uint32_t number = (uint32_t) exports->count + 1;

	assert(spec->path && spec->path[0] == '/' && spec->file);
	assert(!exports_find_exact(exports, spec->path));

	exports->specs[exports->count++] = *spec;
	index_insert(&exports->by_path, path_hash_of(spec), number);
	if (spec->fsid)
		index_insert(&exports->by_fsid, fsid_hash_of(spec), number);
}

void export_spec_done(struct export_spec *spec)
{
	for (size_t i = 0; i < spec->rule_count; i++)
		free(spec->rules[i].text);
	free(spec->rules);
	free(spec->path);
	free(spec->mountpoint);
	*spec = (struct export_spec){ 0 };
}

void exports_done(struct exports *exports)
{
	for (size_t i = 0; i < exports->count; i++)
		export_spec_done(&exports->specs[i]);
	for (size_t i = 0; i < exports->file_count; i++)
		free(exports->files[i]);
	free(exports->specs);
	free(exports->files);
	free(exports->by_path.slots);
	free(exports->by_fsid.slots);
	*exports = (struct exports){ 0 };
}
