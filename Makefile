# Talos: `make up` builds everything and starts a cluster on this machine.

GO      ?= go
CONTROLPLANES ?= 1
WORKERS ?= 0
NAME    ?= default
# IN=containers starts containers in place of virtual machines.
IN      ?= machines
NEXT    ?= v0.1.1
PROVISIONER_machines   = qemu
PROVISIONER_containers = container
PROVISIONER           := $(or $(PROVISIONER_$(IN)),$(error IN=$(IN): it is neither machines nor containers))
# The images have all that a cluster needs, so its network has no access to the outside. LABFLAGS= gives it access.
LABFLAGS ?= --offline
# LOCKED=1 rejects Debian packages that are not in build/debian.lock.
BUILD    = $(GO) run ./cmd/build $(TOOLS) $(if $(LOCKED),-locked)
# Programs for tests are installed before the first build step, too.
test e2e budgets: TOOLS = -tools test
fresh: TOOLS = -tools fresh
FRESH_UNTIL ?= ready
# Which end-to-end tests run: see test/cluster.
E2E ?= 1
# How long each fuzz target runs, or how many executions, such as 1000x.
FUZZTIME ?= 10s

.DEFAULT_GOAL := help
.PHONY: help host-tools build next full up down test vet fresh e2e debug conformance conformance-images chaos fuzz bench bench-cosi budgets generate lock lint clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

host-tools: ## install the programs that the build, the lab and the tests need
	@$(BUILD) -tools test host-tools

build: ## build all programs, container images and the disk image
	@$(BUILD)

next: build ## another version of the installer's image, NEXT (default: v0.1.1), in out/next: what tests upgrade to
	@$(BUILD) -version $(NEXT) -out out/next -cache out/cache installer-image

full: ## the disk image and the installer's image with the kernel for servers, in out/full
	@$(BUILD) -flavour full -out out/full -cache out/cache disk-image installer-image imager

up: build ## build, then start the cluster NAME (default: default) with CONTROLPLANES=n and WORKERS=n machines; IN=containers is fast without KVM
	@out/bin/talosctl cluster create --provisioner $(PROVISIONER) --state out/lab --name $(NAME) --controlplanes $(CONTROLPLANES) --workers $(WORKERS) $(LABFLAGS)

down: ## stop the cluster and remove its machines
	@out/bin/talosctl cluster destroy --state out/lab --name $(NAME)

ifdef PKG
test: ## all tests (E2E=landing: all that a merge needs); PKG=./apid for one package, with RUN=TestRouter for some of its tests
	@$(GO) test -count=1 $(if $(RUN),-v -run '$(RUN)') $(PKG)
else
test:
	@TALOS_E2E=$(E2E) $(GO) run ./test/report -host -build '$(BUILD)' -phase 'vet=make --no-print-directory vet' $(PHASES) $(if $(WITHIN),-within $(WITHIN)) -alone test/e2e,test/chaos -timeout 60m ./...
endif

vet: ## static checks: go vet, staticcheck, go mod tidy
	@$(GO) mod tidy -diff
	@cd test/interop && $(GO) mod tidy -diff
	@$(GO) vet ./...
	@$(GO) tool staticcheck ./...

fresh: ## make up on a bare Debian 12, in its own namespaces; FRESH_UNTIL=machines-on stops there
	@$(BUILD) host-tools
	@$(GO) run ./test/fresh -until $(FRESH_UNTIL) -in $(IN)

ifdef RUN
e2e: build ## only the end-to-end tests, also those with several machines; RUN='TestContainer/(boots|takes)' for some steps
	@TALOS_E2E=all $(GO) test -count=1 -v -timeout 90m -run '$(RUN)' ./test/e2e
else
e2e: build
	@TALOS_E2E=all $(GO) run ./test/report -alone test/e2e -timeout 90m ./test/e2e/...
endif

debug: ## attach a debugger to machined in a container; MACHINE=name for another machine than the first of NAME
	@$(BUILD) talos-debug
	@$(GO) run ./cmd/debug -state out/lab -name $(NAME) -machine '$(MACHINE)' -init '$(INIT)'

conformance-images: build ## the images for Kubernetes' own tests, and a disk image with these in its image cache
	@$(BUILD) conformance-disk-image

conformance: ## Kubernetes' own tests against the cluster NAME: a short set, or FOCUS='\[Conformance\]' for all
	@$(BUILD) e2e kubectl
	@$(GO) run ./test/conformance -kubeconfig out/lab/$(NAME)/kubeconfig -focus '$(FOCUS)' -skip '$(SKIP)'

chaos: build ## long random histories: package cosi, 5,000 discovery clients, and an hour (CHAOS_TIME=10m) of faults of a cluster's machines; CHAOS_SEED=n repeats a run
	@COSI_TEST_STEPS=1000000 BOLT_TEST_KILLS=200 ETCD_TEST_OPERATIONS=10000 $(GO) test -count=1 -v -timeout 60m \
		-run 'TestLongHistory|TestKill|TestFaults' ./cosi/memory ./cosi/bolt ./cosi/etcd
	@DISCOVERY_CROWD=5000 $(GO) test -count=1 -v -timeout 60m -run TestCrowd ./discovery/client
	@TALOS_E2E=all CHAOS_TIME=$(or $(CHAOS_TIME),1h) $(GO) test -count=1 -v -timeout 3h -run TestChaos ./test/chaos

fuzz: ## all fuzz targets, one after another, each for FUZZTIME=10s; PKG=./config for one package, RUN=FuzzDecode for some targets
	@$(GO) run ./test/fuzz -time $(FUZZTIME) -run '$(RUN)' $(or $(PKG),./...)

bench: ## run all benchmarks, with allocations
	@$(GO) test -run '^$$' -bench . -benchmem ./...

bench-cosi: ## compare package cosi with another implementation of the same protocol
	@cd test/interop && $(GO) run ./compare

budgets: build ## compare sizes, times and memory with their budgets
	@$(BUILD) -sizes
	@TALOS_E2E=1 TALOS_BUDGETS=1 $(GO) test -count=1 -v -timeout 50m ./test/budgets

lock: ## update build/debian.lock to the newest Debian packages
	@$(BUILD) -lock

generate: ## regenerate checked-in generated code
	@$(GO) generate ./...

lint: vet ## check the formatting and run the static checks
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }

clean: ## remove the results of the build, but not the build cache (out/cache) and the clusters
	@rm -rf out/bin out/components out/debug out/images
