// Functions of libhdf5 that gonum.org/v1/hdf5 lacks. Unless described otherwise, a result less than 0 is an error;
// cause then describes it, if called on the thread of the failed call.
#ifndef TAPEDECK_H5_COMPLEMENT_H
#define TAPEDECK_H5_COMPLEMENT_H

#include <hdf5.h>
#include <stdbool.h>

enum kind { KIND_OTHER, KIND_INTEGER, KIND_FLOAT, KIND_STRING, KIND_BYTES, KIND_OPAQUE };

#define MAX_RANK 8

// Type and size of a dataset or an attribute.
struct shape {
	enum kind kind;
	int variable; // whether strings have variable length
	int rank;
	hsize_t dims[MAX_RANK];
	size_t size; // bytes of an element
	hsize_t stored; // bytes in the file; 0 for an attribute
	int chunked;
	int lacks; // number of a filter that libhdf5 lacks; 0: none
};

void quiet(void);
const char *cause(void);
ssize_t open_objects(hid_t file);
// Opens a file for reading, or creates it, with checks that keep libhdf5 from crashing.
hid_t open_guarded(const char *path, bool anew);
// The errno of a failed write on this thread since the last call; 0: none. libhdf5 does not know the errno.
int write_error(void);

// Adds the filters that are built into this program.
void register_filters(void);
// The number of the first filter in the creation properties of a dataset that libhdf5 lacks; 0: none.
int lacking_filter(hid_t plist);

herr_t link_soft(hid_t file, const char *target, const char *path);
herr_t link_external(hid_t file, const char *other, const char *target, const char *path);
// Sets *names to the names of the links in a group, each with its NUL, without soft links unless soft. The caller frees
// *names.
herr_t list(hid_t file, const char *path, bool soft, char **names, size_t *size);
// The type of the object at path, following links: H5I_GROUP, H5I_DATASET, or less than 0.
int type_at(hid_t file, const char *path);

herr_t put_strings(hid_t file, const char *path, hsize_t n, char **strings);
herr_t put_attribute(hid_t file, const char *path, const char *name, enum kind kind, size_t size, const void *value);

herr_t write_rows(hid_t set, hsize_t start, hsize_t n, const void *data);
herr_t write_sequences(hid_t set, hsize_t start, hsize_t n, const hvl_t *items);

hid_t open_set(hid_t file, const char *path, struct shape *s);
herr_t close_set(hid_t set);
herr_t read_doubles(hid_t set, double *values);
herr_t read_integers(hid_t set, int64_t *values);
herr_t read_row(hid_t set, hsize_t i, void *data);
// Reports whether element i of a dataset refers to an existing sequence or string of at most limit bytes; libhdf5 does
// not check.
bool reference_ok(hid_t set, hsize_t i, size_t limit);
// Sets *data to sequence i. The caller frees *data. A sequence of more than limit bytes is an error.
herr_t read_sequence(hid_t set, hsize_t i, size_t limit, void **data, size_t *size);

// Reads an attribute of one element. *kind says which of the values is set. The caller frees *text.
herr_t get_attribute(hid_t file, const char *path, const char *name, size_t limit,
	enum kind *kind, int64_t *integer, double *real, char **text);

#endif
