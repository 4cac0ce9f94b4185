// A file driver for libhdf5, for two reasons.
//
// libhdf5 trusts the sizes of the objects in a global heap. If a size is wrong, it reads and writes beyond the heap. So
// the driver checks each heap that libhdf5 reads. Section III.E of the HDF5 file format specification describes heaps.
//
// If libhdf5 cannot write a file, for example because the disk is full, it never frees the file, and later calls fail.
// So the driver reports failed writes as successful to libhdf5, and keeps the errno for take_write_errno.
#include "complement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct guarded_file {
	H5FD_t base; // must be first: libhdf5 has pointers to it
	int fd;
	dev_t device;
	ino_t inode;
	haddr_t end; // size of the file
	haddr_t allocated; // end of the addresses that libhdf5 uses
	int write_errno; // errno of the first failed write; the driver does not try to write after it
};

// errno of the last failed write of any file on this thread; 0: none.
static __thread int thread_write_errno;

// The access property list that selects this driver; less than 0 before the first file.
static hid_t access_list = -1;

static H5FD_t *guard_open(const char *name, unsigned flags, hid_t fapl, haddr_t most) {
	struct stat stat;
	int how = O_CLOEXEC | O_NONBLOCK; // nonblocking, because the target of an external link may be a pipe
	how |= flags & H5F_ACC_RDWR ? O_RDWR : O_RDONLY;
	how |= flags & H5F_ACC_TRUNC ? O_TRUNC : 0;
	how |= flags & H5F_ACC_CREAT ? O_CREAT : 0;
	how |= flags & H5F_ACC_EXCL ? O_EXCL : 0;
	int fd = open(name, how, 0666);
	if (fd < 0) {
		thread_write_errno = flags & H5F_ACC_CREAT ? errno : 0;
		return NULL;
	}
	struct guarded_file *g = calloc(1, sizeof *g);
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
	struct guarded_file *g = (struct guarded_file *)f;
	close(g->fd);
	free(g);
	return 0;
}

static int guard_cmp(const H5FD_t *f, const H5FD_t *h) {
	const struct guarded_file *a = (const struct guarded_file *)f, *b = (const struct guarded_file *)h;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->inode < b->inode ? -1 : a->inode > b->inode;
}

static herr_t guard_query(const H5FD_t *f, unsigned long *flags) {
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
		H5FD_FEAT_AGGREGATE_SMALLDATA;
	return 0;
}

static haddr_t guard_eoa(const H5FD_t *f, H5FD_mem_t type) { return ((const struct guarded_file *)f)->allocated; }

static herr_t guard_set_eoa(H5FD_t *f, H5FD_mem_t type, haddr_t to) {
	((struct guarded_file *)f)->allocated = to;
	return 0;
}

static haddr_t guard_eof(const H5FD_t *f, H5FD_mem_t type) { return ((const struct guarded_file *)f)->end; }

// Reads size bytes of a file at an address. Bytes after the end of the file are zeros.
static int read_at(struct guarded_file *g, haddr_t address, size_t size, unsigned char *buffer) {
	while (size > 0) {
		ssize_t n = pread(g->fd, buffer, size, address);
		if (n < 0)
			return -1;
		if (n == 0) {
			memset(buffer, 0, size);
			return 0;
		}
		address += n;
		size -= n;
		buffer += n;
	}
	return 0;
}

// Returns the little-endian number in n bytes.
static uint64_t little_endian(const unsigned char *p, int n) {
	uint64_t v = 0;
	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

enum {
	HEADER = 16, // bytes of the header of a heap, and of the header of an object in a heap
	MIN_HEAP = 4096, // bytes of the smallest heap
};

// Reports whether the objects of the heap at an address exactly fill the heap. prefix has the heap's first n bytes. If
// the heap has an object with the number object, *object_length becomes the object's length. object 0 is none.
static bool heap_ok(struct guarded_file *g, haddr_t address, const unsigned char *prefix, size_t n, uint64_t object,
		uint64_t *object_length) {
	uint64_t size = little_endian(prefix + 8, 8);
	if (prefix[4] != 1 || size < MIN_HEAP || address > g->end || size > g->end - address)
		return false;
	for (uint64_t offset = HEADER; size - offset >= HEADER;) {
		unsigned char header[HEADER];
		if (offset + HEADER <= n)
			memcpy(header, prefix + offset, HEADER);
		else if (read_at(g, address + offset, HEADER, header) < 0)
			return false;
		uint64_t length = little_endian(header + 8, 8);
		if (length > size - offset)
			return false;
		if (object != 0 && little_endian(header, 2) == object)
			*object_length = length;
		if (little_endian(header, 2) != 0) // object 0 is free space; its length includes the header
			length = HEADER + (length + 7) / 8 * 8;
		if (length < HEADER || length > size - offset)
			return false;
		offset += length;
	}
	return true;
}

static herr_t guard_read(H5FD_t *f, H5FD_mem_t type, hid_t plist, haddr_t address, size_t size, void *buffer) {
	struct guarded_file *g = (struct guarded_file *)f;
	if (read_at(g, address, size, buffer) < 0)
		return -1;
	if (size >= HEADER && memcmp(buffer, "GCOL", 4) == 0 && !heap_ok(g, address, buffer, size, 0, NULL))
		return -1;
	return 0;
}

static herr_t guard_write(H5FD_t *f, H5FD_mem_t type, hid_t plist, haddr_t address, size_t size, const void *data) {
	struct guarded_file *g = (struct guarded_file *)f;
	const char *rest = data;
	while (size > 0 && !g->write_errno) {
		ssize_t n = pwrite(g->fd, rest, size, address);
		if (n < 0 && errno != EINTR)
			g->write_errno = errno;
		if (n > 0) {
			address += n;
			size -= n;
			rest += n;
		}
	}
	if (g->write_errno)
		thread_write_errno = g->write_errno;
	if (address + size > g->end)
		g->end = address + size;
	return 0;
}

static herr_t guard_handle(H5FD_t *f, hid_t plist, void **handle) {
	*handle = f;
	return 0;
}

bool reference_ok(hid_t set, hsize_t i, size_t limit) {
	haddr_t address = H5Dget_offset(set);
	if (address == HADDR_UNDEF) // the data is in chunks, or missing
		return true;
	struct guarded_file *g = NULL;
	hsize_t block_size = 0; // bytes of other data before the beginning of the HDF5 data
	hid_t file = H5Iget_file_id(set), plist = H5Fget_create_plist(file);
	bool ok = H5Pget_userblock(plist, &block_size) >= 0 && H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&g) >= 0;
	H5Pclose(plist);
	H5Fclose(file);
	unsigned char reference[16], header[HEADER];
	if (!ok || read_at(g, address + i * sizeof reference, sizeof reference, reference) < 0)
		return false;
	uint64_t length = little_endian(reference, 4), heap = little_endian(reference + 4, 8);
	uint64_t object = little_endian(reference + 12, 4);
	if (heap == 0 || length == 0)
		return true;
	uint64_t object_length = UINT64_MAX;
	return length <= limit && object != 0 && heap < g->end &&
		read_at(g, block_size + heap, HEADER, header) >= 0 && memcmp(header, "GCOL", 4) == 0 &&
			heap_ok(g, block_size + heap, header, HEADER, object, &object_length) &&
		object_length <= length;
}

static herr_t guard_truncate(H5FD_t *f, hid_t plist, hbool_t closing) {
	struct guarded_file *g = (struct guarded_file *)f;
	if (g->end != g->allocated && !g->write_errno && ftruncate(g->fd, g->allocated) < 0)
		g->write_errno = thread_write_errno = errno;
	g->end = g->allocated;
	return 0;
}

int take_write_errno(void) {
	int error = thread_write_errno;
	thread_write_errno = 0;
	return error;
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

hid_t open_guarded(const char *path, bool create) {
	if (access_list < 0) {
		hid_t driver = H5FDregister(&class), plist = H5Pcreate(H5P_FILE_ACCESS);
		if (driver < 0 || H5Pset_driver(plist, driver, NULL) < 0)
			return -1;
		register_filters();
		access_list = plist;
	}
	return create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access_list)
		: H5Fopen(path, H5F_ACC_RDONLY, access_list);
}
