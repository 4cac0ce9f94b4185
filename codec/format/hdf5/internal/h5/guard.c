// A file driver for libhdf5, for two reasons.
//
// libhdf5 trusts the sizes in a global heap, and reads and writes beyond the heap if they are wrong. So the driver
// checks heaps when they are read. Section III.E of the HDF5 file format specification has their layout.
//
// libhdf5 never frees a file that it cannot write, and later fails because of the remains. So the driver does not
// return errors of writes, for example of a full disk, but keeps them for write_error.
#include "complement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct guarded {
	H5FD_t base;
	int fd;
	dev_t device;
	ino_t inode;
	haddr_t end, allocated;
	int failed; // errno of the first failed write; no more writes are tried after it
};

static __thread int failed;

// The access property list that selects this driver.
static hid_t access_list = -1;

static H5FD_t *guard_open(const char *name, unsigned flags, hid_t fapl, haddr_t most) {
	struct stat stat;
	int how = O_CLOEXEC | O_NONBLOCK; // a link may lead to a pipe
	how |= flags & H5F_ACC_RDWR ? O_RDWR : O_RDONLY;
	how |= flags & H5F_ACC_TRUNC ? O_TRUNC : 0;
	how |= flags & H5F_ACC_CREAT ? O_CREAT : 0;
	how |= flags & H5F_ACC_EXCL ? O_EXCL : 0;
	int fd = open(name, how, 0666);
	if (fd < 0) {
		failed = flags & H5F_ACC_CREAT ? errno : 0;
		return NULL;
	}
	struct guarded *g = calloc(1, sizeof *g);
	if (!g || fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode)) {
		close(fd);
		free(g);
		return NULL;
	}
	g->fd = fd;
	g->device = stat.st_dev;
	g->inode = stat.st_ino;
	g->end = stat.st_size;
	return &g->base;
}

static herr_t guard_close(H5FD_t *f) {
	struct guarded *g = (struct guarded *)f;
	close(g->fd);
	free(g);
	return 0;
}

static int guard_cmp(const H5FD_t *f, const H5FD_t *h) {
	const struct guarded *a = (const struct guarded *)f, *b = (const struct guarded *)h;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->inode < b->inode ? -1 : a->inode > b->inode;
}

static herr_t guard_query(const H5FD_t *f, unsigned long *flags) {
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
		H5FD_FEAT_AGGREGATE_SMALLDATA;
	return 0;
}

static haddr_t guard_eoa(const H5FD_t *f, H5FD_mem_t type) { return ((const struct guarded *)f)->allocated; }

static herr_t guard_set_eoa(H5FD_t *f, H5FD_mem_t type, haddr_t to) {
	((struct guarded *)f)->allocated = to;
	return 0;
}

static haddr_t guard_eof(const H5FD_t *f, H5FD_mem_t type) { return ((const struct guarded *)f)->end; }

// Reads bytes of the file. Bytes behind its end are zeros.
static int fill(struct guarded *g, haddr_t at, size_t size, unsigned char *buffer) {
	while (size > 0) {
		ssize_t n = pread(g->fd, buffer, size, at);
		if (n < 0)
			return -1;
		if (n == 0) {
			memset(buffer, 0, size);
			return 0;
		}
		at += n;
		size -= n;
		buffer += n;
	}
	return 0;
}

static uint64_t little(const unsigned char *p, int n) {
	uint64_t v = 0;
	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

enum { HEADER = 16, SMALLEST = 4096 };

// Reports whether the objects of the heap at an address exactly fill the heap. The first n bytes of the heap are in
// known. If the heap has the object, *found becomes its length.
static bool heap_ok(struct guarded *g, haddr_t at, const unsigned char *known, size_t n, uint64_t object,
		uint64_t *found) {
	uint64_t size = little(known + 8, 8);
	if (known[4] != 1 || size < SMALLEST || at > g->end || size > g->end - at)
		return false;
	for (uint64_t from = HEADER; size - from >= HEADER;) {
		unsigned char header[HEADER];
		if (from + HEADER <= n)
			memcpy(header, known + from, HEADER);
		else if (fill(g, at + from, HEADER, header) < 0)
			return false;
		uint64_t length = little(header + 8, 8);
		if (length > size - from)
			return false;
		if (object != 0 && little(header, 2) == object)
			*found = length;
		if (little(header, 2) != 0) // 0 is free space, whose length includes the header
			length = HEADER + (length + 7) / 8 * 8;
		if (length < HEADER || length > size - from)
			return false;
		from += length;
	}
	return true;
}

static herr_t guard_read(H5FD_t *f, H5FD_mem_t type, hid_t plist, haddr_t at, size_t size, void *buffer) {
	struct guarded *g = (struct guarded *)f;
	if (fill(g, at, size, buffer) < 0)
		return -1;
	if (size >= HEADER && memcmp(buffer, "GCOL", 4) == 0 && !heap_ok(g, at, buffer, size, 0, NULL))
		return -1;
	return 0;
}

static herr_t guard_write(H5FD_t *f, H5FD_mem_t type, hid_t plist, haddr_t at, size_t size, const void *data) {
	struct guarded *g = (struct guarded *)f;
	const char *from = data;
	while (size > 0 && !g->failed) {
		ssize_t n = pwrite(g->fd, from, size, at);
		if (n < 0 && errno != EINTR)
			g->failed = errno;
		if (n > 0) {
			at += n;
			size -= n;
			from += n;
		}
	}
	if (g->failed)
		failed = g->failed;
	if (at + size > g->end)
		g->end = at + size;
	return 0;
}

static herr_t guard_handle(H5FD_t *f, hid_t plist, void **handle) {
	*handle = f;
	return 0;
}

bool reference_ok(hid_t set, hsize_t i, size_t limit) {
	haddr_t at = H5Dget_offset(set);
	if (at == HADDR_UNDEF) // the data is in chunks, or missing
		return true;
	struct guarded *g = NULL;
	hsize_t before = 0;
	hid_t file = H5Iget_file_id(set), plist = H5Fget_create_plist(file);
	bool ok = H5Pget_userblock(plist, &before) >= 0 && H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&g) >= 0;
	H5Pclose(plist);
	H5Fclose(file);
	unsigned char reference[16], header[HEADER];
	if (!ok || fill(g, at + i * sizeof reference, sizeof reference, reference) < 0)
		return false;
	uint64_t length = little(reference, 4), heap = little(reference + 4, 8), object = little(reference + 12, 4);
	if (heap == 0 || length == 0)
		return true;
	uint64_t found = UINT64_MAX;
	return length <= limit && object != 0 && heap < g->end &&
		fill(g, before + heap, HEADER, header) >= 0 && memcmp(header, "GCOL", 4) == 0 &&
			heap_ok(g, before + heap, header, HEADER, object, &found) && found <= length;
}

static herr_t guard_truncate(H5FD_t *f, hid_t plist, hbool_t closing) {
	struct guarded *g = (struct guarded *)f;
	if (g->end != g->allocated && !g->failed && ftruncate(g->fd, g->allocated) < 0)
		g->failed = failed = errno;
	g->end = g->allocated;
	return 0;
}

int write_error(void) {
	int was = failed;
	failed = 0;
	return was;
}

static const H5FD_class_t class = {
#ifdef H5FD_CLASS_VERSION
	.version = H5FD_CLASS_VERSION,
	.value = (H5FD_class_value_t)600, // in the range for unregistered drivers
#endif
	.name = "guard",
	.maxaddr = INT64_MAX,
	.fc_degree = H5F_CLOSE_WEAK,
	.open = guard_open,
	.close = guard_close,
	.cmp = guard_cmp,
	.query = guard_query,
	.get_eoa = guard_eoa,
	.set_eoa = guard_set_eoa,
	.get_eof = guard_eof,
	.read = guard_read,
	.write = guard_write,
	.truncate = guard_truncate,
	.get_handle = guard_handle,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t open_guarded(const char *path, bool anew) {
	if (access_list < 0) {
		hid_t driver = H5FDregister(&class), plist = H5Pcreate(H5P_FILE_ACCESS);
		if (driver < 0 || H5Pset_driver(plist, driver, NULL) < 0)
			return -1;
		register_filters();
		access_list = plist;
	}
	return anew ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access_list) : H5Fopen(path, H5F_ACC_RDONLY, access_list);
}
