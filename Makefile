# Names for the commands one types most; each is a thin wrapper.
.PHONY: build test lint generate ci

build: ## the command line, as ./bandmate
	go build ./cmd/bandmate

test: ## every test that needs no special hardware
	go test ./...

lint: ## golangci-lint as pinned in tools.mod; minutes the first time
	hack/lint.sh

generate: ## assembly, deep copies, custom resource definitions
	hack/generate.sh

ci: ## everything a change has to pass
	.ci/run
