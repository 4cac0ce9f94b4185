# make demo   records, snapshots, inspects, replays and compares, in about a minute
# make test   runs the short tests, in a few minutes the first time
# make test-all  runs all tests, also with other projects' programs, which it installs
# make quick  runs the short tests of packages that have changed since the last commit, and of packages that depend on
#             them, in a minute or two; SINCE=main compares with another commit
# make stress runs all tests 5 times beside busy processes, in about an hour, and prints how often each test failed;
#             N=20 runs them 20 times
# make test-arm64  runs tests, the demo and conversions as arm64 programs under qemu-user, in about half an hour
# make power  cuts the power of programs on ext4, xfs and btrfs and makes their disks fail, as root, in half an hour;
#             N=10000 makes as many cuts
# make build  puts the nodes into bin/
# make dist  writes packages, archives and the converter for other systems into dist/; docs/guide/install.md
# make test-dist  installs the packages of make dist on minimal Debian systems and in a virtual machine, as root, and
#                 tests them there; runs the converter for Windows with Wine
# make reference  runs go generate, which writes the options into docs/reference/ and config/*.yaml
# make pictures  makes docs/pictures from the recording of make demo, with Chromium
# make lint   runs gofmt, the linters, among them go vet and staticcheck, and the tests of test/layers; also the linters
#             on what the converter for macOS and Windows links
# make fuzz   runs each fuzz test for FUZZTIME, by default 1m, in about an hour
# make bench  measures recording, writing and reading, and compares with a baseline
# make bench-recorder  compares recording with the installed recorders of ROS 2, in about 25 minutes;
#                      BENCH="-rounds 1 -only 50k" measures less, and BENCH=-help prints all flags
# make bench-player    compares playing with ROS 2's players, in about 10 minutes; BENCH as for bench-recorder
# make bench-convert   compares converting with other projects' installed programs, in about 5 minutes;
#                      BENCH as for bench-recorder
# make bench-hardware  measures the processor time of the publishers of hardware, in half a minute
# make bench-seek      measures seeks in recordings of 10 GB, in about 5 minutes

SHELL := /bin/bash
GO ?= go
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Tags of the Go build: rcl for bridge/graph/rcl, see test/ros2.
TAGS ?=

# make lint runs go vet, so go test need not.
GOTEST := -p 4 -vet=off -timeout 20m -tags "$(TAGS)"

# The packages of make test. The flags are those of CMakeLists.txt, so that colcon finds cached results.
TESTED := ./bridge/... ./codec/... ./config/... ./msgs/... ./nodes/... ./test/e2e/...
SHORT := test/lean -race test/run -- -short $(GOTEST) $(TESTED)

FUZZTIME ?= 1m

N ?= 5

SINCE ?= HEAD

.PHONY: build dist test-dist demo pictures test test-all test-arm64 quick stress power reference lint fuzz bench bench-recorder bench-player bench-seek bench-convert bench-hardware \
	deps test-deps test-all-deps power-deps clean

build: deps
	$(GO) build -o bin/ ./nodes/...

dist:
	@bash test/install dist
	config/package/dist

test-dist: deps
	@bash test/install packages
	test/run --format standard-verbose -- -count 1 -timeout 2h \
		$$([ "$$(id -u)" = 0 ] || echo -exec=sudo) ./test/packages/... -dist dist

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

test-arm64: test-deps
	@bash test/install arm64
	test/arm64

quick:
	test/lean test/quick $(SINCE)

stress: test-all-deps
	test/lean -race $(GO) run ./test/stress -rounds $(N) -short $(TESTED)
	$(GO) run ./test/stress -rounds $(N) ./test/...
	$(GO) run ./test/stress -rounds $(N) $$(test/long)

power: power-deps
	test/lean $(GO) test ./test/stress/power -v -count=1 -timeout 0 -cuts $(if $(filter file,$(origin N)),1400,$(N))

# The tests that compare these files write them, one node after the other.
reference:
	test/lean $(GO) generate ./nodes/...

lint: deps
	$(GO) run $(GOLANGCI_LINT) run --build-tags "$(TAGS)"
	for target in darwin/amd64 darwin/arm64 windows/amd64; do \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -o /dev/null ./nodes/converter || exit 1; done
	for system in darwin windows; do \
		$(GO) run -exec "env CGO_ENABLED=0 GOOS=$$system" $(GOLANGCI_LINT) run --tests=false \
			$$(CGO_ENABLED=0 GOOS=$$system $(GO) list -deps ./nodes/converter | sed -n 's|^tapedeck/|./|p') || exit 1; done
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
	@bash test/install build test power peers

power-deps:
	@bash test/install build test power

clean:
	rm -rf bin build install log
