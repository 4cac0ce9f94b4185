// Functions for libhdf5 that gonum.org/v1/hdf5 lacks. Unless described otherwise, a result less than 0 is an error. The
// thread that made the failed call can call error_text for a description.
#ifndef TAPEDECK_H5_COMPLEMENT_H
#define TAPEDECK_H5_COMPLEMENT_H

#include <hdf5.h>
#include <stdbool.h>

// Kinds of elements of datasets and attributes. KIND_BYTES are sequences of bytes of variable length.
enum kind { KIND_OTHER, KIND_INTEGER, KIND_FLOAT, KIND_STRING, KIND_BYTES, KIND_OPAQUE };

#define MAX_RANK 8

// Type and size of a dataset or an attribute.
struct shape {
	enum kind kind;
	int variable; // not 0: strings have variable length
	int rank; // number of dimensions
	hsize_t dims[MAX_RANK];
	size_t size; // bytes of an element
	hsize_t stored; // bytes in the file; 0 for an attribute
	int chunked; // not 0: the data is in chunks
	int missing_filter; // number of the dataset's first filter that libhdf5 lacks; 0: none
};

// Forgets the errors of earlier calls on this thread, and makes libhdf5 not print errors.
void reset_errors(void);
// Returns the text of libhdf5's first error on this thread since reset_errors; "": none.
const char *error_text(void);

// Opens a file for reading, or creates it if create, with checks that keep libhdf5 from crashing.
hid_t open_guarded(const char *path, bool create);
// Returns the errno of the last failed write on this thread since the last call; 0: none. libhdf5 does not know the
// errno.
int take_write_errno(void);
// Returns the number of open objects of a file, including the file.
ssize_t count_open_objects(hid_t file);

// Registers the filters that are built into this program.
void register_filters(void);
// Returns the number of the first filter in a dataset's creation properties that libhdf5 lacks; 0: none.
int missing_filter(hid_t plist);

// Create a link at path to the object target, in the file itself or in another one.
herr_t link_soft(hid_t file, const char *target, const char *path);
herr_t link_external(hid_t file, const char *other, const char *target, const char *path);
// Sets *names to the names of the links in a group, each followed by NUL. Soft links are omitted unless with_soft. The
// caller frees *names.
herr_t list_names(hid_t file, const char *path, bool with_soft, char **names, size_t *size);
// Returns the type of the object at path, such as H5I_GROUP or H5I_DATASET, following links.
int object_type(hid_t file, const char *path);

// Creates a dataset of n strings.
herr_t write_strings(hid_t file, const char *path, hsize_t n, char **strings);
// Sets an attribute of the object at path. size is the number of bytes of an integer: 1 or 8.
herr_t write_attribute(hid_t file, const char *path, const char *name, enum kind kind, size_t size, const void *value);

// Writes n rows or sequences of bytes, the first one at index start.
herr_t write_rows(hid_t set, hsize_t start, hsize_t n, const void *data);
herr_t write_sequences(hid_t set, hsize_t start, hsize_t n, const hvl_t *sequences);

// Opens a dataset and describes it in *s.
hid_t open_dataset(hid_t file, const char *path, struct shape *s);
herr_t close_dataset(hid_t set);
// Read all elements of a dataset, converted to the type of values.
herr_t read_doubles(hid_t set, double *values);
herr_t read_integers(hid_t set, int64_t *values);
// Reads row i in native byte order.
herr_t read_row(hid_t set, hsize_t i, void *data);
// Reports whether element i of a dataset refers to an existing sequence or string of at most limit bytes. libhdf5 does
// not check the reference.
bool reference_ok(hid_t set, hsize_t i, size_t limit);
// Sets *data to sequence i. The caller frees *data. A sequence of more than limit bytes is an error.
herr_t read_sequence(hid_t set, hsize_t i, size_t limit, void **data, size_t *size);

// Reads an attribute of one element into *integer, *real or *text, depending on *kind. Strings of fixed length have at
// most limit bytes. The caller frees *text.
herr_t read_attribute(hid_t file, const char *path, const char *name, size_t limit,
	enum kind *kind, int64_t *integer, double *real, char **text);

#endif
