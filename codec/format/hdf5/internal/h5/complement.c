#include "complement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The text of libhdf5's first error since reset_errors; "": none was saved.
static __thread char saved_error[400];

// Saves the innermost error of libhdf5's error stack. The result 1 ends the walk through the stack.
static herr_t save_innermost(unsigned n, const H5E_error2_t *e, void *data) {
	snprintf(saved_error, sizeof saved_error, "%s", e->desc ? e->desc : "");
	return 1;
}

void reset_errors(void) {
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	saved_error[0] = '\0';
}

// Returns rc, the result of a call of libhdf5, and saves the call's error. Each further call clears the error stack.
static int64_t save_error(int64_t rc) {
	if (rc < 0 && saved_error[0] == '\0')
		H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, save_innermost, NULL);
	return rc;
}

const char *error_text(void) {
	save_error(-1);
	return saved_error;
}

ssize_t count_open_objects(hid_t file) { return H5Fget_obj_count(file, H5F_OBJ_ALL | H5F_OBJ_LOCAL); }

herr_t link_soft(hid_t file, const char *target, const char *path) {
	return H5Lcreate_soft(target, file, path, H5P_DEFAULT, H5P_DEFAULT);
}

herr_t link_external(hid_t file, const char *other, const char *target, const char *path) {
	return H5Lcreate_external(other, target, file, path, H5P_DEFAULT, H5P_DEFAULT);
}

struct name_list {
	char *names; // names, each followed by NUL
	size_t size; // bytes of names
	bool with_soft; // append the names of soft links
};

static herr_t append_name(hid_t group, const char *name, const H5L_info_t *info, void *data) {
	struct name_list *list = data;
	if (info->type == H5L_TYPE_SOFT && !list->with_soft)
		return 0;
	size_t n = strlen(name) + 1;
	char *names = realloc(list->names, list->size + n);
	if (!names)
		return -1;
	memcpy(names + list->size, name, n);
	list->names = names;
	list->size += n;
	return 0;
}

herr_t list_names(hid_t file, const char *path, bool with_soft, char **names, size_t *size) {
	struct name_list list = {NULL, 0, with_soft};
	hsize_t index = 0;
	hid_t group = H5Gopen2(file, path, H5P_DEFAULT);
	if (group < 0)
		return -1;
	herr_t rc = save_error(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &index, append_name, &list));
	H5Gclose(group);
	*names = list.names;
	*size = list.size;
	return rc;
}

int object_type(hid_t file, const char *path) {
	hid_t object = H5Oopen(file, path, H5P_DEFAULT);
	if (object < 0)
		return -1;
	int type = H5Iget_type(object);
	H5Oclose(object);
	return type;
}

// Returns a type of UTF-8 strings of variable length.
static hid_t create_string_type(void) {
	hid_t type = H5Tcopy(H5T_C_S1);
	H5Tset_size(type, H5T_VARIABLE);
	H5Tset_cset(type, H5T_CSET_UTF8);
	return type;
}

herr_t write_strings(hid_t file, const char *path, hsize_t n, char **strings) {
	herr_t rc = -1;
	hid_t type = create_string_type(), space = H5Screate_simple(1, &n, NULL);
	hid_t set = save_error(H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	if (set >= 0) {
		rc = n > 0 ? save_error(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, strings)) : 0;
		if (H5Dclose(set) < 0)
			rc = -1;
	}
	H5Sclose(space);
	H5Tclose(type);
	return rc;
}

herr_t write_attribute(hid_t file, const char *path, const char *name, enum kind kind, size_t size, const void *value) {
	herr_t rc = -1;
	hid_t type, space = H5Screate(H5S_SCALAR);
	switch (kind) {
	case KIND_STRING:
		type = create_string_type();
		break;
	case KIND_FLOAT:
		type = H5Tcopy(H5T_NATIVE_DOUBLE);
		break;
	default:
		type = H5Tcopy(size == 1 ? H5T_NATIVE_UINT8 : H5T_NATIVE_INT64);
	}
	hid_t attribute =
		save_error(H5Acreate_by_name(file, path, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	if (attribute >= 0) {
		rc = save_error(H5Awrite(attribute, type, kind == KIND_STRING ? (const void *)&value : value));
		if (H5Aclose(attribute) < 0)
			rc = -1;
	}
	H5Tclose(type);
	H5Sclose(space);
	return rc;
}

// Sets *file to the data space of a dataset with n rows selected, the first one at index start. Sets *memory to a data
// space for n rows in memory. The caller closes the data spaces that are not less than 0, also after an error.
static herr_t select_rows(hid_t set, hsize_t start, hsize_t n, hid_t *file, hid_t *memory) {
	hsize_t first[MAX_RANK] = {0}, count[MAX_RANK];
	*file = *memory = -1;
	hid_t space = H5Dget_space(set);
	if (space < 0)
		return -1;
	int rank = H5Sget_simple_extent_ndims(space);
	if (rank < 1 || rank > MAX_RANK || H5Sget_simple_extent_dims(space, count, NULL) < 0) {
		H5Sclose(space);
		return -1;
	}
	first[0] = start;
	count[0] = n;
	if (H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, count, NULL) < 0) {
		H5Sclose(space);
		return -1;
	}
	*file = space;
	*memory = H5Screate_simple(rank, count, NULL);
	return *memory < 0 ? -1 : 0;
}

// Writes n rows of a dataset from in, or reads them to out if in is NULL.
static herr_t transfer(hid_t set, hid_t type, hsize_t start, hsize_t n, hid_t plist, void *out, const void *in) {
	hid_t file, memory;
	herr_t rc = select_rows(set, start, n, &file, &memory);
	if (rc >= 0)
		rc = save_error(in ? H5Dwrite(set, type, memory, file, plist, in)
			: H5Dread(set, type, memory, file, plist, out));
	if (memory >= 0)
		H5Sclose(memory);
	if (file >= 0)
		H5Sclose(file);
	return rc;
}

// Returns the memory type of a dataset's elements: numbers have native byte order, strings are not converted.
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

herr_t write_sequences(hid_t set, hsize_t start, hsize_t n, const hvl_t *sequences) {
	hid_t type = H5Tvlen_create(H5T_NATIVE_UINT8);
	herr_t rc = transfer(set, type, start, n, H5P_DEFAULT, NULL, sequences);
	H5Tclose(type);
	return rc;
}

// Sets the kind, the size and the dimensions of *s.
static void describe(hid_t type, hid_t space, struct shape *s) {
	s->kind = KIND_OTHER;
	s->size = H5Tget_size(type);
	switch (H5Tget_class(type)) {
	case H5T_INTEGER:
	case H5T_BITFIELD:
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

hid_t open_dataset(hid_t file, const char *path, struct shape *s) {
	memset(s, 0, sizeof *s);
	hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
	if (set < 0)
		return -1;
	hid_t type = H5Dget_type(set), space = H5Dget_space(set), plist = H5Dget_create_plist(set);
	if (type >= 0 && space >= 0 && plist >= 0) {
		describe(type, space, s);
		s->chunked = H5Pget_layout(plist) == H5D_CHUNKED;
		s->missing_filter = missing_filter(plist);
		s->stored = H5Dget_storage_size(set);
		// Datasets with data in external files are not supported.
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

herr_t close_dataset(hid_t set) { return H5Dclose(set); }

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

// Allocates memory for libhdf5, unless size exceeds *limit, because the size in a damaged file may be any number.
static void *allocate_limited(size_t size, void *limit) { return size > *(size_t *)limit ? NULL : calloc(1, size + 1); }

static void free_limited(void *data, void *limit) { free(data); }

// Reads element i of a dataset of sequences or strings of variable length.
static herr_t read_limited(hid_t set, hid_t type, hsize_t i, size_t limit, void *out) {
	if (!reference_ok(set, i, limit)) {
		snprintf(saved_error, sizeof saved_error, "the reference to the data is invalid; the file is damaged");
		return -1;
	}
	hid_t plist = H5Pcreate(H5P_DATASET_XFER);
	H5Pset_vlen_mem_manager(plist, allocate_limited, &limit, free_limited, &limit);
	herr_t rc = transfer(set, type, i, 1, plist, out, NULL);
	H5Pclose(plist);
	return rc;
}

herr_t read_sequence(hid_t set, hsize_t i, size_t limit, void **data, size_t *size) {
	hvl_t sequence = {0, NULL};
	hid_t type = H5Tvlen_create(H5T_NATIVE_UINT8);
	herr_t rc = read_limited(set, type, i, limit, &sequence);
	H5Tclose(type);
	*data = sequence.p;
	*size = sequence.p ? sequence.len : 0;
	return rc;
}

// Reads an integer, or an enumeration of one byte such as h5py's booleans.
static herr_t read_integer(hid_t attribute, hid_t type, size_t size, int64_t *integer) {
	herr_t rc = H5Aread(attribute, H5T_NATIVE_INT64, integer);
	if (rc >= 0 || size != 1)
		return rc;
	int8_t enumerator = 0;
	rc = H5Aread(attribute, type, &enumerator);
	if (rc >= 0)
		*integer = enumerator;
	return rc;
}

// Reads a string. *text remains NULL if the string is NULL, if it is longer than limit, or if memory is short.
static herr_t read_string(hid_t attribute, hid_t type, const struct shape *s, size_t limit, char **text) {
	if (s->variable) {
		char *string = NULL;
		herr_t rc = H5Aread(attribute, type, &string);
		if (rc >= 0 && string) {
			*text = strdup(string);
			H5free_memory(string);
		}
		return rc;
	}
	if (s->size > limit)
		return 0;
	*text = calloc(1, s->size + 1);
	return *text ? H5Aread(attribute, type, *text) : 0;
}

herr_t read_attribute(hid_t file, const char *path, const char *name, size_t limit,
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
			rc = read_integer(attribute, type, s.size, integer);
			break;
		case KIND_FLOAT:
			rc = H5Aread(attribute, H5T_NATIVE_DOUBLE, real);
			break;
		case KIND_STRING:
			rc = read_string(attribute, type, &s, limit, text);
			if (!*text && !s.variable)
				s.kind = KIND_OTHER;
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
