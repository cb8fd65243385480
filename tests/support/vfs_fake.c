/* SPDX-License-Identifier: Apache-2.0 */
#include "support/vfs_fake.h"

#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/vfs_fake_internal.h"
#include "vfs/base/cleanup.h"

struct vfs_fake_node vfs_fake_nodes[VFS_FAKE_NODES];
struct vfs_fake_name vfs_fake_names[VFS_FAKE_NAMES];
static struct vfs fake_vfs;
static struct vfs_export fake_exports[2];
static struct export_rate fake_rate;
static bool as_caller;
static uint8_t next_generation;
static int (*fault_fn)(void *context, const char *function);
static void *fault_context;

void vfs_fake_fault(int (*fault)(void *context, const char *function), void *context)
{
	fault_fn = fault;
	fault_context = context;
}

int vfs_fake_may_fail(const char *function)
{
	return fault_fn ? fault_fn(fault_context, function) : 0;
}

struct vfs_fake_node *vfs_fake_node_of(const struct vfs_file *file)
{
	size_t at = (size_t) ((const char *) file - (const char *) vfs_fake_nodes);

	assert(at % sizeof vfs_fake_nodes[0] == 0 &&
	       at / sizeof vfs_fake_nodes[0] < VFS_FAKE_NODES);
	assert(vfs_fake_nodes[at / sizeof vfs_fake_nodes[0]].used);
	assert(atomic_load(&file->refs) > 1); /* somebody holds it */
	return &vfs_fake_nodes[at / sizeof vfs_fake_nodes[0]];
}

void vfs_fake_handle(unsigned node, uint8_t to[VFS_FAKE_HANDLE_BYTES])
{
	memcpy(to, "FAKE", 4);
	to[4] = (uint8_t) node;
	to[5] = vfs_fake_nodes[node].generation;
	to[6] = to[7] = 0;
}

struct vfs_fake_node *vfs_fake_make(struct vfs_export *export, enum vfs_type type, uint32_t mode)
{
	unsigned i = 0;
	struct vfs_fake_node *node;

	while (i < VFS_FAKE_NODES && vfs_fake_nodes[i].used)
		i++;
	if (i == VFS_FAKE_NODES)
		return NULL;
	node = &vfs_fake_nodes[i];
	memset(node, 0, sizeof *node);
	node->used = true;
	node->generation = ++next_generation;
	node->attr = (struct vfs_attr){ .type = type,
		                        .mode = mode & 07777,
		                        .fsid = export->fsid,
		                        .fileid = 1000 + i,
		                        .ctime = { .tv_sec = 1000 + i } };
	node->file.type = type;
	node->file.fd = VFS_FAKE_FD + (int) i;
	atomic_store(&node->file.direct_fd, -EBADF);
	node->file.vfs = &fake_vfs;
	node->file.export = export;
	node->file.hashed = i % 2 == 0;
	atomic_store(&node->file.refs, 1);
	pthread_mutex_init(&node->file.commit_lock, NULL);
	node->file.handle.count = VFS_FAKE_HANDLE_BYTES;
	vfs_fake_handle(i, node->file.handle.bytes);
	return node;
}

void vfs_fake_unused(struct vfs_fake_node *node)
{
	if (node->attr.nlink > 0 || atomic_load(&node->file.refs) > 1)
		return;
	assert(!group_commit_busy(&node->file.gate));
	pthread_mutex_destroy(&node->file.commit_lock);
	node->used = false;
}

struct vfs_file *vfs_fake_ref(struct vfs_fake_node *node)
{
	atomic_fetch_add(&node->file.refs, 1);
	return &node->file;
}

struct vfs *vfs_fake_new(void)
{
	struct vfs_fake_node *root, *other, *file;

	memset(vfs_fake_nodes, 0, sizeof vfs_fake_nodes);
	memset(vfs_fake_names, 0, sizeof vfs_fake_names);
	memset(&fake_vfs, 0, sizeof fake_vfs);
	vfs_bulk_init(&fake_vfs);
	as_caller = false;
	next_generation = 0;
	for (uint32_t i = 0; i < 2; i++) {
		fake_rate = (struct export_rate){ 0 };
		fake_exports[i] = (struct vfs_export){ .id = i + 1, .fsid = 100 + i };
		atomic_store(&fake_exports[i].serial, i + 1);
	}
	root = vfs_fake_make(&fake_exports[0], VFS_DIRECTORY, 0777);
	other = vfs_fake_make(&fake_exports[1], VFS_DIRECTORY, 0755);
	root->attr.nlink = other->attr.nlink = 1;
	file = vfs_fake_make(&fake_exports[0], VFS_REGULAR, 06644);
	vfs_fake_name_add(root, "file", file);
	file->attr.size = 5000;
	memset(file->data, 'f', 5000);
	vfs_fake_name_add(root, "dir", vfs_fake_make(&fake_exports[0], VFS_DIRECTORY, 0755));
	vfs_fake_name_add(root, "link", vfs_fake_make(&fake_exports[0], VFS_SYMLINK, 0777));
	return &fake_vfs;
}

void vfs_fake_free(void)
{
	assert(!as_caller);
	for (size_t i = 0; i < VFS_FAKE_NODES; i++)
		if (vfs_fake_nodes[i].used) {
			assert(atomic_load(&vfs_fake_nodes[i].file.refs) == 1);
			assert(!group_commit_busy(&vfs_fake_nodes[i].file.gate));
			pthread_mutex_destroy(&vfs_fake_nodes[i].file.commit_lock);
		}
}

uint64_t vfs_fake_size(unsigned node)
{
	return vfs_fake_nodes[node].attr.size;
}

const uint8_t *vfs_fake_data(unsigned node)
{
	return vfs_fake_nodes[node].data;
}

void vfs_fake_direct(unsigned node)
{
	struct vfs_file *file = &vfs_fake_nodes[node].file;

	file->export->fs.direct_align_bytes = VFS_FAKE_DIRECT_ALIGN_BYTES;
	file->export->gated = true;
	atomic_store(&file->export->direct, true);
	atomic_store(&file->direct_fd, VFS_FAKE_DIRECT_FD + (int) node);
	atomic_store(&file->direct_tried, true);
	vfs_fake_nodes[node].attr.used_bytes = VFS_FAKE_FILE_BYTES;
}

void vfs_fake_sparse(unsigned node)
{
	vfs_fake_nodes[node].attr.used_bytes = 0;
}

/* ---- identity ---- */

int vfs_identity_keep(const struct privilege *privileges, size_t count,
                      char reterr_why[VFS_IDENTITY_WHY_BYTES])
{
	return 0;
}

void vfs_identity_assume(const struct vfs_cred *cred)
{
	assert(cred->group_count <= VFS_GROUPS_MAX);
	as_caller = true;
}

void vfs_identity_server(void)
{
	as_caller = false;
}

void vfs_fake_must_be(bool caller)
{
	assert(as_caller == caller);
}

/* ---- files ---- */

uint64_t vfs_now_ms(void)
{
	return 1;
}

static struct vfs_fake_node *node_by_handle(const uint8_t *wire, size_t wire_bytes)
{
	struct vfs_fake_node *node;

	if (wire_bytes != VFS_FAKE_HANDLE_BYTES || memcmp(wire, "FAKE", 4) != 0 ||
	    wire[4] >= VFS_FAKE_NODES)
		return NULL;
	node = &vfs_fake_nodes[wire[4]];
	return node->used && memcmp(wire, node->file.handle.bytes, wire_bytes) == 0 ? node : NULL;
}

int vfs_file_find(struct vfs *vfs, const uint8_t *wire, size_t wire_bytes,
                  struct vfs_file **ret_file)
{
	struct vfs_fake_node *node = node_by_handle(wire, wire_bytes);

	assert(vfs == &fake_vfs);
	if (!node || !node->file.hashed)
		return -EAGAIN;
	*ret_file = vfs_fake_ref(node);
	return 0;
}

int vfs_file_open(struct vfs *vfs, const uint8_t *wire, size_t wire_bytes,
                  struct vfs_file **ret_file)
{
	struct vfs_fake_node *node = node_by_handle(wire, wire_bytes);
	int r = vfs_fake_may_fail(__func__);

	assert(vfs == &fake_vfs);
	vfs_fake_must_be(false);
	if (r < 0)
		return r;
	if (!node)
		return wire_bytes == VFS_FAKE_HANDLE_BYTES ? -ESTALE : -EBADMSG;
	node->file.hashed = true;
	*ret_file = vfs_fake_ref(node);
	return 0;
}

struct vfs_file *vfs_file_put(struct vfs_file *file)
{
	if (file) {
		struct vfs_fake_node *node = vfs_fake_node_of(file);

		atomic_fetch_sub(&file->refs, 1);
		vfs_fake_unused(node);
	}
	return NULL;
}

int vfs_file_need(struct vfs_file *file, enum vfs_open open)
{
	int r = vfs_fake_may_fail(__func__);

	(void) vfs_fake_node_of(file);
	vfs_fake_must_be(false);
	assert(file->type == VFS_REGULAR || (file->type == VFS_DIRECTORY && open <= VFS_OPEN_READ));
	if (r == 0 && atomic_load(&file->open) < open)
		atomic_store(&file->open, open);
	return r;
}

bool vfs_file_is(const struct vfs_file *file, enum vfs_open open)
{
	return atomic_load(&file->open) >= open;
}

int vfs_file_fd(const struct vfs_file *file)
{
	return file->fd;
}

const struct vfs_handle *vfs_file_handle(const struct vfs_file *file)
{
	return &file->handle;
}

struct vfs_export *vfs_file_export(const struct vfs_file *file)
{
	return file->export;
}

uint64_t vfs_file_device(const struct vfs_file *file)
{
	return file->export->id;
}

enum vfs_type vfs_file_type(const struct vfs_file *file)
{
	return file->type;
}

int vfs_file_attr(const struct vfs_file *file, struct vfs_attr *ret_attr)
{
	const struct vfs_fake_node *node = vfs_fake_node_of(file);
	int r = vfs_fake_may_fail(__func__);

	if (r == 0 && node->attr.nlink == 0)
		r = -ESTALE;
	if (r == 0)
		*ret_attr = node->attr;
	return r;
}

int vfs_file_may(const struct vfs_file *file, const struct vfs_attr *attr,
                 const struct vfs_cred *cred, bool write)
{
	(void) vfs_fake_node_of(file);
	(void) attr;
	if (cred->uid % 2)
		return -EAGAIN; /* an access list */
	return cred->uid == 0 || !write ? 0 : -EACCES;
}

int vfs_fake_io(const struct ring_fake_call *call)
{
	bool direct = call->kind == RING_FAKE_PWRITE_DURABLE;
	bool write = direct || call->kind == RING_FAKE_PWRITE;
	int at = call->fd - (direct ? VFS_FAKE_DIRECT_FD : VFS_FAKE_FD);
	struct vfs_fake_node *node = &vfs_fake_nodes[at];
	uint64_t left, kept;

	assert(at >= 0 && at < VFS_FAKE_NODES && node->used);
	(void) vfs_fake_node_of(&node->file);
	assert(vfs_file_is(&node->file, write ? VFS_OPEN_READ_WRITE : VFS_OPEN_READ));
	assert(!direct || (uintptr_t) call->bytes % VFS_FAKE_DIRECT_ALIGN_BYTES == 0);
	if (call->kind == RING_FAKE_FDATASYNC)
		return 0;
	left = call->offset < VFS_FAKE_DATA_BYTES ? VFS_FAKE_DATA_BYTES - call->offset : 0;
	if (call->kind == RING_FAKE_PREAD) {
		uint64_t count = call->offset < node->attr.size ? node->attr.size - call->offset
		                                                : 0;

		count = count < call->count ? count : call->count;
		kept = count < left ? count : left;
		memset(call->bytes, 0, count);
		if (kept)
			memcpy(call->bytes, node->data + call->offset, kept);
		return (int) count;
	}
	if (call->offset >= VFS_FAKE_FILE_BYTES || call->count > VFS_FAKE_FILE_BYTES - call->offset)
		return -EFBIG;
	kept = call->count < left ? call->count : left;
	if (kept)
		memcpy(node->data + call->offset, call->bytes, kept);
	if (node->attr.size < call->offset + call->count)
		node->attr.size = call->offset + call->count;
	return (int) call->count;
}

/* ---- exports ---- */

int vfs_export_access(struct vfs *vfs, struct vfs_export *export,
                      const struct export_address *client, const struct export_names *names,
                      bool may_block, struct export_options *ret_options)
{
	(void) client;
	(void) names;
	assert(vfs == &fake_vfs);
	if (export->id == 2 && !may_block)
		return -EAGAIN;
	*ret_options = (struct export_options){ .read_only = export->id == 2,
		                                .root_squash = export->id == 2,
		                                .anon_uid = 65534,
		                                .anon_gid = 65534,
		                                .rate = fake_rate };
	return 0;
}

void vfs_fake_limit(const struct export_rate *rate)
{
	fake_rate = *rate;
	atomic_fetch_add(&fake_exports[0].serial, 2); /* as a reload does */
	atomic_fetch_add(&fake_exports[1].serial, 2);
}

uint32_t vfs_export_id(const struct vfs_export *export)
{
	return export->id;
}

uint64_t vfs_device(struct vfs *vfs, const uint8_t *wire, size_t wire_bytes)
{
	(void) wire;
	assert(vfs == &fake_vfs);
	return wire_bytes; /* any number does */
}

uint32_t vfs_export_serial(const struct vfs_export *export)
{
	return atomic_load(&export->serial);
}

int vfs_mount(struct vfs *vfs, const char *path, const struct export_address *client,
              unsigned client_port, const struct export_names *names, struct vfs_file **ret_file,
              struct export_options *ret_options)
{
	int r = vfs_fake_may_fail(__func__);

	(void) client_port;
	vfs_fake_must_be(false);
	if (r < 0)
		return r;
	if (strcmp(path, "/c") == 0)
		return -EACCES;
	if (strcmp(path, "/a") != 0 && strcmp(path, "/b") != 0)
		return -ENOENT;
	*ret_file = vfs_fake_ref(&vfs_fake_nodes[path[1] - 'a']);
	return vfs_export_access(vfs, (*ret_file)->export, client, names, true, ret_options);
}

void vfs_exports_visit(struct vfs *vfs,
                       void (*visit)(void *context, const struct export_spec *spec), void *context)
{
	static char a[] = "/a", b[] = "/b", everybody[] = "*", net[] = "10.0.0.0/8";
	static struct export_rule rules[] = { { .text = everybody }, { .text = net } };
	static const struct export_spec specs[] = {
		{ .path = a, .rules = rules, .rule_count = 1 },
		{ .path = b, .rules = rules, .rule_count = 2 }
	};

	assert(vfs == &fake_vfs);
	for (size_t i = 0; i < ARRAY_COUNT(specs); i++)
		visit(context, &specs[i]);
}

int vfs_path_root(struct vfs *vfs, const char *path, struct vfs_file **ret_root,
                  char ret_below[VFS_MOUNT_PATH_BYTES_MAX + 1])
{
	assert(!"no test asks for an export's root by its path");
	return -ENOENT;
}

void vfs_tell(struct vfs *vfs, const struct vfs_told *told)
{
	vfs->flush_failed = told->flush_failed;
	vfs->direct_refused = told->direct_refused;
	vfs->told_context = told->context;
}

/* A test puts its server together by itself: nobody calls these. */
void vfs_data_path_set(struct vfs *vfs, enum vfs_data_path data_path)
{
	abort();
}

void vfs_open_files_max_set(struct vfs *vfs, unsigned open_files_max)
{
	abort();
}

int vfs_new(const struct vfs_handle_key *key, unsigned open_files_max, struct vfs **ret_vfs)
{
	abort();
}

struct vfs *vfs_free(struct vfs *vfs)
{
	abort();
}

int vfs_exports_set(struct vfs *vfs, struct exports *exports, vfs_report_fn *report, void *context,
                    size_t *ret_usable)
{
	abort();
}
