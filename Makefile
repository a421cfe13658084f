# Names for the commands one types most; each is a thin wrapper.
.PHONY: build test lint generate ci install uninstall release

# Where install puts things: make install PREFIX=/usr DESTDIR=/tmp/stage
PREFIX ?= /usr/local
DESTDIR ?=
# The program that is installed, and one that runs here, to say its completions.
BINARY ?= bandmate
NATIVE ?= $(abspath $(BINARY))

bin := $(DESTDIR)$(PREFIX)/bin
man := $(DESTDIR)$(PREFIX)/share/man/man1
bash := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zsh := $(DESTDIR)$(PREFIX)/share/zsh/site-functions
fish := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
units := $(DESTDIR)$(PREFIX)/lib/systemd/system
slurm := $(DESTDIR)$(PREFIX)/share/bandmate/slurm
doc := $(DESTDIR)$(PREFIX)/share/doc/bandmate
pages := $(wildcard docs/man/*.1)
scripts := manifests/slurm/prolog.sh manifests/slurm/epilog.sh
tables := manifests/slurm/cli_filter.lua manifests/slurm/job_submit.lua manifests/slurm/onboard.sbatch

build: ## the command line, as ./bandmate
	go build ./cmd/bandmate

test: ## every test that needs no special hardware
	go test ./...

lint: ## golangci-lint as pinned in tools.mod; minutes the first time
	hack/lint.sh

generate: ## assembly, deep copies, resource definitions, reference pages, tables, pictures
	hack/generate.sh

ci: ## everything a change has to pass
	.ci/run

install: $(if $(filter bandmate,$(BINARY)),build) ## program, manual, completions, systemd unit, Slurm's files
	install -D -m 755 $(BINARY) $(bin)/bandmate
	ln -sf bandmate $(bin)/kubectl-bandmate
	install -d $(man) $(bash) $(zsh) $(fish) $(units) $(slurm) $(doc)
	install -m 644 $(pages) $(man)
	$(NATIVE) completion bash >$(bash)/bandmate
	$(NATIVE) completion zsh >$(zsh)/_bandmate
	$(NATIVE) completion fish >$(fish)/bandmate.fish
	sed 's|/usr/bin/bandmate|$(PREFIX)/bin/bandmate|' manifests/slurm/bandmate-slurm-watch.service >$(units)/bandmate-slurm-watch.service
	install -m 755 $(scripts) $(slurm)
	install -m 644 $(tables) $(slurm)
	install -m 644 README.md CHANGELOG.md LICENSE $(doc)
	chmod 644 $(bash)/bandmate $(zsh)/_bandmate $(fish)/bandmate.fish $(units)/bandmate-slurm-watch.service

uninstall: ## what install put there, and nothing else
	rm -f $(bin)/bandmate $(bin)/kubectl-bandmate $(addprefix $(man)/,$(notdir $(pages)))
	rm -f $(bash)/bandmate $(zsh)/_bandmate $(fish)/bandmate.fish $(units)/bandmate-slurm-watch.service
	rm -f $(addprefix $(slurm)/,$(notdir $(scripts) $(tables))) $(addprefix $(doc)/,README.md CHANGELOG.md LICENSE)
	-rmdir --ignore-fail-on-non-empty $(slurm) $(dir $(slurm)) $(doc)

release: ## archives, Debian packages, checksums: make release VERSION=v0.1.0
	hack/release.sh $(VERSION) dist
