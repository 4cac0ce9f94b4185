#include "complement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The message of libhdf5's first error since quiet. The next call resets it.
static __thread char said[400];

static herr_t innermost(unsigned n, const H5E_error2_t *e, void *data) {
	snprintf(said, sizeof said, "%s", e->desc ? e->desc : "");
	return 1;
}

void quiet(void) {
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	said[0] = '\0';
}

static int64_t keep(int64_t rc) {
	if (rc < 0 && said[0] == '\0')
		H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, NULL);
	return rc;
}

const char *cause(void) {
	keep(-1);
	return said;
}

ssize_t open_objects(hid_t file) { return H5Fget_obj_count(file, H5F_OBJ_ALL | H5F_OBJ_LOCAL); }

herr_t link_soft(hid_t file, const char *target, const char *path) {
	return H5Lcreate_soft(target, file, path, H5P_DEFAULT, H5P_DEFAULT);
}

herr_t link_external(hid_t file, const char *other, const char *target, const char *path) {
	return H5Lcreate_external(other, target, file, path, H5P_DEFAULT, H5P_DEFAULT);
}

struct names {
	char *at;
	size_t size;
	bool soft;
};

static herr_t append_name(hid_t group, const char *name, const H5L_info_t *info, void *data) {
	struct names *t = data;
	if (info->type == H5L_TYPE_SOFT && !t->soft)
		return 0;
	size_t n = strlen(name) + 1;
	char *at = realloc(t->at, t->size + n);
	if (!at)
		return -1;
	memcpy(at + t->size, name, n);
	t->at = at;
	t->size += n;
	return 0;
}

herr_t list(hid_t file, const char *path, bool soft, char **names, size_t *size) {
	struct names t = {NULL, 0, soft};
	hsize_t from = 0;
	hid_t group = H5Gopen2(file, path, H5P_DEFAULT);
	if (group < 0)
		return -1;
	herr_t rc = keep(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &from, append_name, &t));
	H5Gclose(group);
	*names = t.at;
	*size = t.size;
	return rc;
}

int type_at(hid_t file, const char *path) {
	hid_t object = H5Oopen(file, path, H5P_DEFAULT);
	if (object < 0)
		return -1;
	int type = H5Iget_type(object);
	H5Oclose(object);
	return type;
}

// A type of UTF-8 strings of any length.
static hid_t string_type(void) {
	hid_t type = H5Tcopy(H5T_C_S1);
	H5Tset_size(type, H5T_VARIABLE);
	H5Tset_cset(type, H5T_CSET_UTF8);
	return type;
}

herr_t put_strings(hid_t file, const char *path, hsize_t n, char **strings) {
	herr_t rc = -1;
	hid_t type = string_type(), space = H5Screate_simple(1, &n, NULL);
	hid_t set = keep(H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	if (set >= 0) {
		rc = n > 0 ? keep(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, strings)) : 0;
		if (H5Dclose(set) < 0)
			rc = -1;
	}
	H5Sclose(space);
	H5Tclose(type);
	return rc;
}

herr_t put_attribute(hid_t file, const char *path, const char *name, enum kind kind, size_t size, const void *value) {
	herr_t rc = -1;
	hid_t type, space = H5Screate(H5S_SCALAR);
	switch (kind) {
	case KIND_STRING:
		type = string_type();
		break;
	case KIND_FLOAT:
		type = H5Tcopy(H5T_NATIVE_DOUBLE);
		break;
	default:
		type = H5Tcopy(size == 1 ? H5T_NATIVE_UINT8 : H5T_NATIVE_INT64);
	}
	hid_t attribute = keep(H5Acreate_by_name(file, path, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	if (attribute >= 0) {
		rc = keep(H5Awrite(attribute, type, kind == KIND_STRING ? (const void *)&value : value));
		if (H5Aclose(attribute) < 0)
			rc = -1;
	}
	H5Tclose(type);
	H5Sclose(space);
	return rc;
}

// Sets *file to the data space of a set with n rows selected from start on, and *memory to a data space for these rows
// in memory.
static herr_t select_rows(hid_t set, hsize_t start, hsize_t n, hid_t *file, hid_t *memory) {
	hsize_t from[MAX_RANK] = {0}, count[MAX_RANK];
	*file = *memory = -1;
	hid_t space = H5Dget_space(set);
	if (space < 0)
		return -1;
	int rank = H5Sget_simple_extent_ndims(space);
	if (rank < 1 || rank > MAX_RANK || H5Sget_simple_extent_dims(space, count, NULL) < 0) {
		H5Sclose(space);
		return -1;
	}
	from[0] = start;
	count[0] = n;
	if (H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL) < 0) {
		H5Sclose(space);
		return -1;
	}
	*file = space;
	*memory = H5Screate_simple(rank, count, NULL);
	return *memory < 0 ? -1 : 0;
}

static herr_t transfer(hid_t set, hid_t type, hsize_t start, hsize_t n, hid_t plist, void *out, const void *in) {
	hid_t file, memory;
	herr_t rc = select_rows(set, start, n, &file, &memory);
	if (rc >= 0)
		rc = keep(in ? H5Dwrite(set, type, memory, file, plist, in) : H5Dread(set, type, memory, file, plist, out));
	if (memory >= 0)
		H5Sclose(memory);
	if (file >= 0)
		H5Sclose(file);
	return rc;
}

// The memory type with which the elements of a set are read without conversion.
static hid_t native_type(hid_t set) {
	hid_t type = H5Dget_type(set);
	if (type < 0)
		return -1;
	hid_t native = H5Tget_class(type) == H5T_STRING ? H5Tcopy(type) : H5Tget_native_type(type, H5T_DIR_ASCEND);
	H5Tclose(type);
	return native;
}

herr_t write_rows(hid_t set, hsize_t start, hsize_t n, const void *data) {
	hid_t type = native_type(set);
	if (type < 0)
		return -1;
	herr_t rc = transfer(set, type, start, n, H5P_DEFAULT, NULL, data);
	H5Tclose(type);
	return rc;
}

herr_t write_sequences(hid_t set, hsize_t start, hsize_t n, const hvl_t *items) {
	hid_t type = H5Tvlen_create(H5T_NATIVE_UINT8);
	herr_t rc = transfer(set, type, start, n, H5P_DEFAULT, NULL, items);
	H5Tclose(type);
	return rc;
}

static void describe(hid_t type, hid_t space, struct shape *s) {
	s->kind = KIND_OTHER;
	s->size = H5Tget_size(type);
	switch (H5Tget_class(type)) {
	case H5T_INTEGER:
	case H5T_BITFIELD:
		s->kind = KIND_INTEGER;
		break;
	case H5T_ENUM:
		s->kind = KIND_INTEGER;
		break;
	case H5T_FLOAT:
		s->kind = KIND_FLOAT;
		break;
	case H5T_OPAQUE:
		s->kind = KIND_OPAQUE;
		break;
	case H5T_STRING:
		s->kind = KIND_STRING;
		s->variable = H5Tis_variable_str(type) > 0;
		break;
	case H5T_VLEN: {
		hid_t base = H5Tget_super(type);
		if (base >= 0 && H5Tget_class(base) == H5T_INTEGER && H5Tget_size(base) == 1)
			s->kind = KIND_BYTES;
		if (base >= 0)
			H5Tclose(base);
		break;
	}
	default:
		break;
	}
	int rank = H5Sget_simple_extent_ndims(space);
	s->rank = rank;
	if (rank < 0 || rank > MAX_RANK || H5Sget_simple_extent_type(space) == H5S_NULL) {
		s->rank = 0;
		s->kind = KIND_OTHER;
	} else if (rank > 0) {
		H5Sget_simple_extent_dims(space, s->dims, NULL);
	}
}

hid_t open_set(hid_t file, const char *path, struct shape *s) {
	memset(s, 0, sizeof *s);
	hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
	if (set < 0)
		return -1;
	hid_t type = H5Dget_type(set), space = H5Dget_space(set), plist = H5Dget_create_plist(set);
	if (type >= 0 && space >= 0 && plist >= 0) {
		describe(type, space, s);
		s->chunked = H5Pget_layout(plist) == H5D_CHUNKED;
		s->lacks = lacking_filter(plist);
		s->stored = H5Dget_storage_size(set);
		// The data of a dataset may be in external files.
		if (H5Pget_external_count(plist) > 0)
			s->kind = KIND_OTHER;
	}
	int ok = type >= 0 && space >= 0 && plist >= 0;
	if (type >= 0)
		H5Tclose(type);
	if (space >= 0)
		H5Sclose(space);
	if (plist >= 0)
		H5Pclose(plist);
	if (!ok) {
		H5Dclose(set);
		return -1;
	}
	return set;
}

herr_t close_set(hid_t set) { return H5Dclose(set); }

herr_t read_doubles(hid_t set, double *values) {
	return H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

herr_t read_integers(hid_t set, int64_t *values) {
	return H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

herr_t read_row(hid_t set, hsize_t i, void *data) {
	hid_t type = native_type(set);
	if (type < 0)
		return -1;
	herr_t rc = transfer(set, type, i, 1, H5P_DEFAULT, data, NULL);
	H5Tclose(type);
	return rc;
}

// The allocator for libhdf5. It refuses memory for lengths that are damaged.
static void *limited(size_t size, void *limit) { return size > *(size_t *)limit ? NULL : calloc(1, size + 1); }

static void release(void *data, void *limit) { free(data); }

static herr_t read_limited(hid_t set, hid_t type, hsize_t i, size_t limit, void *out) {
	if (!reference_ok(set, i, limit)) {
		snprintf(said, sizeof said, "it refers to what is not there; the file is damaged");
		return -1;
	}
	hid_t plist = H5Pcreate(H5P_DATASET_XFER);
	H5Pset_vlen_mem_manager(plist, limited, &limit, release, &limit);
	herr_t rc = transfer(set, type, i, 1, plist, out, NULL);
	H5Pclose(plist);
	return rc;
}

herr_t read_sequence(hid_t set, hsize_t i, size_t limit, void **data, size_t *size) {
	hvl_t item = {0, NULL};
	hid_t type = H5Tvlen_create(H5T_NATIVE_UINT8);
	herr_t rc = read_limited(set, type, i, limit, &item);
	H5Tclose(type);
	*data = item.p;
	*size = item.p ? item.len : 0;
	return rc;
}

herr_t get_attribute(hid_t file, const char *path, const char *name, size_t limit,
		enum kind *kind, int64_t *integer, double *real, char **text) {
	herr_t rc = -1;
	struct shape s = {0};
	*text = NULL;
	*kind = KIND_OTHER;
	hid_t attribute = H5Aopen_by_name(file, path, name, H5P_DEFAULT, H5P_DEFAULT);
	if (attribute < 0)
		return -1;
	hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
	if (type >= 0 && space >= 0) {
		describe(type, space, &s);
		rc = 0;
		if (H5Sget_simple_extent_npoints(space) != 1)
			s.kind = KIND_OTHER;
		switch (s.kind) {
		case KIND_INTEGER:
			rc = H5Aread(attribute, H5T_NATIVE_INT64, integer);
			if (rc < 0) { // of an enumeration, as h5py's booleans are
				int8_t small = 0;
				if (s.size == 1 && (rc = H5Aread(attribute, type, &small)) >= 0)
					*integer = small;
			}
			break;
		case KIND_FLOAT:
			rc = H5Aread(attribute, H5T_NATIVE_DOUBLE, real);
			break;
		case KIND_STRING:
			if (s.variable) {
				char *found = NULL;
				rc = H5Aread(attribute, type, &found);
				if (rc >= 0 && found) {
					*text = strdup(found);
					H5free_memory(found);
				}
			} else if (s.size <= limit && (*text = calloc(1, s.size + 1))) {
				rc = H5Aread(attribute, type, *text);
			} else {
				s.kind = KIND_OTHER;
			}
			break;
		default:
			s.kind = KIND_OTHER;
		}
		*kind = s.kind;
	}
	if (type >= 0)
		H5Tclose(type);
	if (space >= 0)
		H5Sclose(space);
	H5Aclose(attribute);
	return rc;
}
