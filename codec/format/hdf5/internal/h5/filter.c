// Filters of datasets: an implementation of LZF, which h5py uses, and a search for filters that libhdf5 lacks.
#include "complement.h"

#include <stdlib.h>
#include <string.h>

enum {
	LZF_FILTER = 32000, // number in The HDF Group's registry of filters
	MAX_RATIO = 264, // limit of the compression ratio: a reference of 3 bytes stands for at most 264 bytes
};

// Decompresses LZF, and returns the number of decompressed bytes. 0: the data is not LZF, or does not fit.
static size_t decompress(const unsigned char *in, size_t n, unsigned char *out, size_t room) {
	size_t i = 0, o = 0;
	while (i < n) {
		size_t control = in[i++];
		if (control < 32) { // control + 1 literal bytes follow
			size_t length = control + 1;
			if (length > n - i || length > room - o)
				return 0;
			memcpy(out + o, in + i, length);
			i += length;
			o += length;
			continue;
		}
		size_t length = control >> 5, back = (control & 31) << 8;
		if (length == 7) {
			if (i == n)
				return 0;
			length += in[i++];
		}
		if (i == n)
			return 0;
		back += in[i++] + 1;
		length += 2;
		if (back > o || length > room - o)
			return 0;
		for (; length > 0; length--, o++) // one byte at a time, because source and target may overlap
			out[o] = out[o - back];
	}
	return o;
}

// Implements H5Z_func_t for reading. values[2] is the number of bytes of a decompressed chunk.
static size_t filter_lzf(unsigned flags, size_t count, const unsigned values[], size_t bytes, size_t *size,
		void **buffer) {
	if (!(flags & H5Z_FLAG_REVERSE))
		return 0;
	size_t room = count >= 3 && values[2] > 0 ? values[2] : bytes * MAX_RATIO;
	if (bytes == 0 || room / MAX_RATIO > bytes)
		return 0;
	unsigned char *out = malloc(room);
	if (!out)
		return 0;
	size_t n = decompress(*buffer, bytes, out, room);
	if (n == 0) {
		free(out);
		return 0;
	}
	free(*buffer);
	*buffer = out;
	*size = room;
	return n;
}

static const H5Z_class2_t lzf = {
	.version = H5Z_CLASS_T_VERS,
	.id = LZF_FILTER,
	.decoder_present = 1,
	.name = "lzf",
	.filter = filter_lzf,
};

void register_filters(void) { H5Zregister(&lzf); }

int missing_filter(hid_t plist) {
	int n = H5Pget_nfilters(plist);
	for (int i = 0; i < n; i++) {
		unsigned flags, info;
		size_t count = 0;
		H5Z_filter_t id = H5Pget_filter2(plist, i, &flags, &count, NULL, 0, NULL, &info);
		if (id >= 0 && H5Zfilter_avail(id) <= 0)
			return id;
	}
	return 0;
}
