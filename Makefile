# Everything a person or a machine does here. `make check` is what CI runs, no more and no less.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GO      ?= go

# The tools, at the versions that CI uses. They are no dependencies of the module.
GOFUMPT     := $(GO) run mvdan.cc/gofumpt@v0.12.0
STATICCHECK := $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
EXHAUSTIVE  := $(GO) run github.com/nishanths/exhaustive/cmd/exhaustive@v0.17.1
# The tests of the check. Their programs are linked without tables for debuggers, which nobody reads: linking takes less work.
# A package may take two hours, as it may on a machine that has much else to do.
TEST        := $(GO) test -ldflags=-w -timeout 120m
# Before what makes much garbage and keeps little: less collecting for at most 2 GB of memory.
ROOMY       := GOGC=400

# How long a fuzz target runs, and which benchmarks run for how long.
FUZZTIME  ?= 10s
BENCH     ?= .
BENCHTIME ?= 1s
# Flags of make bench-peers: --row jobs,status, --list, --scale 10, --json, --markdown.
PEERS     ?=
# Flags of make bench-ab: -equal 200, -changed 20, -peers 50, -json.
AB        ?=
# How many raced packages are tested at once, beside one that is not raced. Their servers and programs keep two cores busy. Where
# making a process is slow, one more makes all of them miss what they wait for.
PARALLEL  ?= 2
# The long packages of the end of the alphabet. go test begins packages in the order of their names on its command line, and
# takes one that is named twice once. Begun last, these would run alone in the end, on one core.
FIRST     := ./website/sitetest ./projector ./scheduler
# The packages of the floors 0 and 1. They and their tests have one goroutine, as internal/archtest sees to: there is no race to find.
PURE      := ./events ./internal/phrase ./rules/... ./webhook/command
# Its tests start the program, which is built as people get it. The race detector would watch the tests alone.
OUTSIDE   := ./cmd/tacho

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/tacho, a static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/tacho ./cmd/tacho

.PHONY: deps-demo
deps-demo: ## Install what the demo needs and this machine lacks
	@.ci/install demo

.PHONY: demo
demo: deps-demo build ## Benchmark two Go releases with two collectors and compare them
	bin/tacho up --demo

.PHONY: check
check: format vet staticcheck exhaustive tidy archtest test ## Run all checks and tests, as CI does

.PHONY: format
format: ## Check that the code is formatted
	@unformatted="$$($(GOFUMPT) -l .)"; \
	if [ -n "$$unformatted" ]; then printf 'not formatted (make fmt does it):\n%s\n' "$$unformatted"; exit 1; fi

.PHONY: fmt
fmt: ## Format the code
	$(GOFUMPT) -w .

.PHONY: vet
vet:
	$(ROOMY) $(GO) vet ./...
	cd bench && $(ROOMY) $(GO) vet ./...

.PHONY: staticcheck
staticcheck:
	$(ROOMY) $(STATICCHECK) ./...

# Switches over our own constants are complete, or say //exhaustive:ignore on the line above. A default does
# not make one complete. Switches over our closed sets of types are checked by internal/archtest.
.PHONY: exhaustive
exhaustive:
	$(ROOMY) $(EXHAUSTIVE) -typeonly '^github\.com/tachobench/tacho/' ./...

# Every fold against the truth of random stories, after each of their events: some ten thousand of them in all. A failure names
# the seed that repeats it.
.PHONY: stories
stories: ## Hold every fold of the log against random stories
	$(ROOMY) $(TEST) $(UNRACED) -run Agrees ./rules/ledger ./projector ./collector ./eventlog/door

.PHONY: tidy
tidy:
	$(GO) mod tidy -diff
	cd bench && $(GO) mod tidy -diff

# Before the other tests, because it is the fastest and its findings explain others. The cache of results does not see what
# git tracks.
.PHONY: archtest
archtest: ## Check the rules of the house: floors, purity, names, lengths
	$(TEST) -count 1 ./internal/archtest

.PHONY: test
test: ## Run all tests, with the race detector but for pure packages and cmd/tacho
	@.ci/slowest $(MAKE) --no-print-directory tests

.PHONY: tests
tests:
	@$(MAKE) --no-print-directory -j 2 raced unraced

# One package after the other, beside the raced ones, so that waiting there leaves no core idle.
.PHONY: unraced
unraced:
	@$(MAKE) --no-print-directory stories UNRACED='-p 1'
	@$(MAKE) --no-print-directory models UNRACED='-p 1'
	@$(MAKE) --no-print-directory pure UNRACED='-p 1'
	@$(MAKE) --no-print-directory peers
	@$(MAKE) --no-print-directory outside

# The step vet vets the tests too, with more checks, and internal/archtest has a step of its own. A program with the race
# detector sleeps a second at its end, for goroutines that are still at work then; a tenth of it is enough for ours.
.PHONY: raced
raced:
	GORACE=atexit_sleep_ms=100 $(TEST) -vet off -race -p $(PARALLEL) $(FIRST) \
		$$($(GO) list ./... | grep -vxFf <($(GO) list ./internal/archtest $(PURE) $(OUTSIDE)))

# What the race detector makes too slow to be done in full under it.
.PHONY: models
models:
	$(TEST) $(UNRACED) -vet off -run '^TestRandom|^TestRequestsOfManyDays$$|^TestRequestsOfWhichThree|^TestAPreviewIsWhatIsMade$$|^TestPagesOfHuge' ./scheduler ./internal/farm ./website/sitetest

# The same with the counts of a long run, for a night or before a release: 10,000 graphs, a month of requests.
.PHONY: soak
soak: ## Play many more random worlds than the check does, about a quarter of an hour
	$(ROOMY) $(GO) test -tags soak -vet off -count 1 -timeout 60m -run Agrees ./rules/ledger ./projector ./collector ./eventlog/door
	$(GO) test -tags soak -vet off -count 1 -timeout 60m -run '^TestRandom|^TestRequestsOfManyDays$$|^TestRequestsOfWhichThree' ./scheduler ./internal/farm
	$(GO) test -tags soak -vet off -count 1 -timeout 60m -v -run 'InTurns|UnplannedLooks|NarrowKeeps' ./rules/compare

# The program that measures is not raced as it measures. Its module is not below ./...
.PHONY: peers
peers:
	cd bench && $(TEST) -vet off ./...

# The stories have a step of their own.
.PHONY: pure
pure:
	$(TEST) $(UNRACED) -vet off -skip '^TestTheLedgerAgrees$$|^TestAnyLogAgrees' $(PURE)

.PHONY: outside
outside:
	$(TEST) -vet off $(OUTSIDE)

.PHONY: outage
outage: ## Take the artifact server, NATS and Postgres down for 90, 60 and 60 seconds while jobs run, and NATS during a flood of output
	TACHO_OUTAGE=full $(GO) test -run '^(TestOutagesCostNobodyAJob|TestAFloodOfOutput)$$' -count 1 -v -timeout 60m ./cmd/tacho

.PHONY: chaos
chaos: ## Make every fault that a cluster can have while jobs run, and measure what is seen; a quarter of an hour
	TACHO_CHAOS=full $(GO) test -run '^(TestChaos|TestANodeThatStandsStillIsLeft)$$' -count 1 -v -timeout 90m ./cmd/tacho

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME
	@grep -rHoE '^func Fuzz\w+' --include='*_test.go' . | while IFS=: read -r file name; do \
		echo "fuzz $$(dirname "$$file") $${name#func }"; \
		$(GO) test -run '^$$' -fuzz "^$${name#func }$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")"; \
	done

.PHONY: bench
bench: ## Run the benchmarks that match BENCH
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem -p 1 ./...

.PHONY: bench-peers
bench-peers: build ## Do the work of Tacho beside its peers, in turns, with the flags in PEERS
	cd bench && $(GO) run . $(PEERS)

.PHONY: bench-ab
bench-ab: build ## Tell how often tacho ab is right beside hyperfine and benchstat, with the flags in AB
	cd bench && $(GO) run ./ab -tacho ../bin/tacho $(AB)

.PHONY: docker
docker: ## Build the images tacho:core and tacho:collector
	docker build --build-arg VERSION=$(VERSION) --target core -t tacho:core .
	docker build --build-arg VERSION=$(VERSION) --target collector -t tacho:collector .

.PHONY: containers
containers: ## Bring docker-compose.yml up with podman, as root: measure, kill a node, down, up
	docker/try
