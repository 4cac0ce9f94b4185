// The baseline of BenchmarkJPEG. It writes sequences of SIZE bytes with libhdf5, BATCH sequences per call, and prints
// the duration in s. Usage: baseline FILE CAMERAS FRAMES SIZE BATCH.
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void require(int ok, const char *operation) {
	if (!ok) {
		fprintf(stderr, "%s failed\n", operation);
		exit(1);
	}
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
	require(argc == 6, "counting five arguments");
	int cameras = atoi(argv[2]), size = atoi(argv[4]);
	hsize_t frames = atoi(argv[3]), batch = atoi(argv[5]);
	hvl_t *items = calloc(batch, sizeof *items);
	for (hsize_t i = 0; i < batch; i++) {
		items[i].len = size;
		items[i].p = malloc(size);
		for (int k = 0; k < size; k++)
			((unsigned char *)items[i].p)[k] = i + k * 7;
	}

	double start = now();
	hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	require(file >= 0, "H5Fcreate");
	hid_t type = H5Tvlen_create(H5T_NATIVE_UINT8);
	for (int c = 0; c < cameras; c++) {
		char name[20];
		snprintf(name, sizeof name, "/cam_%d", c);
		hid_t space = H5Screate_simple(1, &frames, NULL);
		hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		require(set >= 0, "H5Dcreate2");
		for (hsize_t at = 0; at < frames; at += batch) {
			hsize_t n = frames - at < batch ? frames - at : batch;
			hid_t memory = H5Screate_simple(1, &n, NULL);
			H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &n, NULL);
			require(H5Dwrite(set, type, memory, space, H5P_DEFAULT, items) >= 0, "H5Dwrite");
			H5Sclose(memory);
		}
		H5Sclose(space);
		H5Dclose(set);
	}
	H5Tclose(type);
	require(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "H5Fflush");
	require(H5Fclose(file) >= 0, "H5Fclose");
	int fd = open(argv[1], O_RDWR);
	require(fd >= 0 && fsync(fd) == 0, "fsync");
	printf("%.6f\n", now() - start);
	return 0;
}
