# What people and CI run. `make` alone lists it.

GO       ?= go
FUZZTIME ?= 10s
VERSION  := $(shell cat VERSION)
TOOL     := $(GO) tool -modfile=tools/go.mod
STATIC   := CGO_ENABLED=0 $(GO) build -trimpath
# Without the commit: another one must not change what is deployed.
FUNCTION := GOOS=linux GOARCH=arm64 $(STATIC) -buildvcs=false -tags lambda.norpc -ldflags "-s -w"

.DEFAULT_GOAL := help
.PHONY: help demo test check fmt vet lint arch template build build-RedirectFunction build-HeartbeatFunction bench fuzz vuln deps clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## a whole rolling deployment on this machine, under load
	$(GO) run ./cmd/detour demo

# Nothing from the cache: it does not see what the tests build and run, such as
# the functions' binaries.
test: deps ## every test, with the race detector
	$(GO) test -race -count=1 -timeout 10m ./...

check: fmt vet lint arch ## form, suspicious code, architecture

fmt: ## list files that gofumpt would change
	@files="$$($(TOOL) gofumpt -l .)"; if [ -n "$$files" ]; then echo "gofumpt -w these:"; echo "$$files"; exit 1; fi

vet: ## what the compiler lets pass
	$(GO) vet ./...

lint: ## the linters of .golangci.yml
	$(TOOL) golangci-lint run ./...

arch: ## the architecture's own tests
	$(GO) test ./internal/arch

template: ## the SAM template, with the real SAM CLI and cfn-lint
	@tools/sam.sh

build: dist/redirect/bootstrap dist/heartbeat/bootstrap dist/detour ## both functions for Lambda on arm64, the CLI for this machine

dist/%/bootstrap: FORCE
	$(FUNCTION) -o $@ ./functions/$*

# What sam build asks for, by the names of template.yaml.
build-RedirectFunction: dist/redirect/bootstrap
	cp $< $(ARTIFACTS_DIR)/bootstrap

build-HeartbeatFunction: dist/heartbeat/bootstrap
	cp $< $(ARTIFACTS_DIR)/bootstrap

dist/detour: FORCE
	$(STATIC) -ldflags "-s -w -X main.version=$(VERSION)" -o $@ ./cmd/detour

FORCE:

bench: deps ## every benchmark
	$(GO) test -run '^$$' -bench . -benchmem -timeout 20m ./...

fuzz: ## every fuzz target for FUZZTIME, 10s by default
	@GO=$(GO) tools/fuzz.sh $(FUZZTIME)

vuln: ## known vulnerabilities of what we depend on (asks the net)
	$(TOOL) govulncheck ./...

deps: ## what the tests need besides Go; installed where apt-get and root are
	@tools/deps.sh

clean: ## remove what was built
	rm -rf dist
