# make demo   records, snapshots, inspects, replays and compares, in about a minute
# make test   passes the tests but those of test-all, in a few minutes the first time
# make test-all  passes all tests, also beside other projects' programs, which it installs
# make quick  passes the short tests of what depends on what has changed since the last commit, in a minute or two;
#             SINCE=main is since another one
# make stress runs all tests 5 times on a busy machine, in about an hour, and prints which failed how often;
#             N=20 runs them 20 times
# make build  puts the nodes into bin/
# make static puts a converter into bin/static/ that needs no libraries: without HDF5
# make reference  runs go generate, which writes the options into docs/reference/ and config/*.yaml
# make pictures  makes docs/pictures from the recording of make demo, with Chromium
# make lint   runs gofmt, the linters, among them go vet and staticcheck, and the tests of test/layers
# make fuzz   runs each fuzz test for FUZZTIME, 1m: can damaged input upset what reads it? About an hour in all
# make bench  measures recording, writing and reading beside a baseline
# make bench-recorder  measures recording beside the recorders of ROS 2 that are installed, in about 25 minutes;
#                      with BENCH="-rounds 1 -only 50k" less, and -help for what else
# make bench-player    measures playing beside ROS 2's players, in about 10 minutes; BENCH as for bench-recorder
# make bench-convert   measures converting beside the installed programs of others, in about 5 minutes;
#                      BENCH as for bench-recorder
# make bench-hardware  measures what the publishers of hardware take, in half a minute
# make bench-seek      measures seeks in recordings of 10 GB, in about 5 minutes

SHELL := /bin/bash
GO ?= go
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Of the Go build: rcl for bridge/graph/rcl, see test/ros2.
TAGS ?=

# What make lint vets needs no vetting by go test.
GOTEST := -p 4 -vet=off -timeout 20m -tags "$(TAGS)"

# The tests of make test. With the flags that CMakeLists.txt has, too, colcon finds their results.
TESTED := ./bridge/... ./codec/... ./config/... ./msgs/... ./nodes/... ./test/e2e/...
SHORT := test/lean -race test/run -- -short $(GOTEST) $(TESTED)

FUZZTIME ?= 1m

N ?= 5

SINCE ?= HEAD

.PHONY: build static demo pictures test test-all quick stress reference lint fuzz bench bench-recorder bench-player bench-seek bench-convert bench-hardware \
	deps test-deps test-all-deps clean

build: deps
	$(GO) build -o bin/ ./nodes/...

static:
	CGO_ENABLED=0 $(GO) build -ldflags='-s -w' -o bin/static/ ./nodes/converter

demo: deps
	test/lean $(GO) build -o build/demo/ ./nodes/recorder ./nodes/player ./nodes/converter ./test/demo
	build/demo/demo

pictures: demo
	test/lean $(GO) build -o build/demo/ ./test/demo/pictures
	build/demo/pictures

test: test-deps
	$(SHORT)

test-all: test-all-deps
	$(SHORT)
	test/lean test/run -- $(GOTEST) ./test/...
	test/lean test/run -- $(GOTEST) $$(test/long)

quick:
	test/lean test/quick $(SINCE)

stress: test-all-deps
	test/lean -race $(GO) run ./test/stress -rounds $(N) -short $(TESTED)
	$(GO) run ./test/stress -rounds $(N) ./test/...
	$(GO) run ./test/stress -rounds $(N) $$(test/long)

# The tests that compare these files write them, one node after the other.
reference:
	test/lean $(GO) generate ./nodes/...

lint: deps
	$(GO) run $(GOLANGCI_LINT) run --build-tags "$(TAGS)"
	$(GO) test ./test/layers

fuzz:
	grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9]*' bridge codec config msgs nodes test | \
		while IFS=: read -r file target; do \
		$(GO) test "./$${file%/*}" -run '^$$' -fuzz "^$${target#func }$$" -fuzztime $(FUZZTIME) \
			-fuzzminimizetime 20x || exit 1; done

bench: build
	$(GO) test -run '^$$' -bench . -benchmem \
		./codec/format/record ./codec/format/mcap ./codec/encoding/cdr ./codec/format/carla ./codec/format/hdf5
	$(GO) run ./test/bench/recorder -only 'taken x .*(receiving|tapedeck)'

bench-recorder: build
	$(GO) run ./test/bench/recorder $(BENCH)

bench-convert: build
	$(GO) run ./test/bench/convert $(BENCH)

bench-seek:
	$(GO) run ./test/bench/seek $(BENCH)

bench-player: build
	$(GO) run ./test/bench/player $(BENCH)

bench-hardware: build
	$(GO) run ./test/bench/hardware $(BENCH)

deps:
	@bash test/install build

test-deps:
	@bash test/install build test

test-all-deps:
	@bash test/install build test peers

clean:
	rm -rf bin build install log
