# Every command that a person types. `make` alone lists them.
# Only Python (3.11 or later), make and git are needed; everything else goes into .venv and .local of this folder.

PYTHON ?= python3
PY := .venv/bin/python
CODE := layers/isolane:functions

# Nothing here may reach a real account, whatever the shell was set up for.
export AWS_CONFIG_FILE := /dev/null
export AWS_SHARED_CREDENTIALS_FILE := /dev/null
export AWS_EC2_METADATA_DISABLED := true
unexport AWS_PROFILE AWS_DEFAULT_PROFILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN

.DEFAULT_GOAL := help
.PHONY: help demo test unit test-localstack sam-local faults mutants soak verify up down reset deploy build logs token grant check format bench lock clean FORCE

help: ## this list
	@echo "isolane: make TARGET [NAME=value …]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-15s %s\n", $$1, $$2}' Makefile

demo: .venv/installed.lock ## deploy locally and score a text; TEXT=path scores a text of yours
	@PYTHONPATH=$(CODE) $(PY) -m tests.environment.demo

test: .venv/installed.lock ## run every test; ARGS=… goes to pytest, REQUIRE_ALL=1 leaves nothing out
	@$(PY) -m pytest $(ARGS)

unit: .venv/installed.lock ## only the tests that need nothing but Python
	@$(PY) -m pytest tests/unit $(ARGS)

test-localstack: .venv/installed.lock ## the integration and e2e suites on LocalStack, started by compose.yaml and stopped
	@$(PY) -m tests.environment.localstack
	@AWS_ENDPOINT_URL=$$(head -1 .local/localstack) $(PY) -m pytest tests/integration tests/e2e $(ARGS); \
		status=$$?; $(PY) -m tests.environment.localstack --stop; exit $$status

sam-local: .venv/installed.lock ## every event in Lambda's runtime image, by Docker; EVENT=scoring-api.submit [DEBUG=5678] runs one
	@PYTHONPATH=$(CODE) $(PY) -m tests.environment.sam_local

faults: .venv/installed.lock ## the fault lab: every crash point, every order of two, 2,000 random schedules; SCHEDULES=…
	@$(PY) -m tests.faults.run

mutants: .venv/installed.lock ## put known faults into a copy of the code; the fault lab must catch each
	@$(PY) -m tests.faults.mutants $(ARGS)

soak: .venv/installed.lock ## TASKS=2000 tasks while calls to AWS fail and processes are killed; SEED=… repeats the dice
	@PYTHONPATH=$(CODE) $(PY) -m tests.faults.soak

verify: ## hold any deployment to what reservations promise: URL=… TOKEN=…; SEED=… repeats a plan
	@$(PYTHON) -m tests.e2e.verify

up: .venv/installed.lock ## start the local AWS and deploy to it; PORT=… takes another port than 4566
	@PYTHONPATH=$(CODE) $(PY) -m tests.environment.deploy

down: ## stop what was started here; the data stay
	@[ ! -x $(PY) ] || $(PY) -m tests.environment.localstack --stop
	@[ ! -x $(PY) ] || $(PY) -m tests.environment.down

reset: ## stop what was started here, and forget its data
	@[ ! -x $(PY) ] || $(PY) -m tests.environment.localstack --stop
	@[ ! -x $(PY) ] || $(PY) -m tests.environment.down --wipe

deploy: up ## the same as up; ENV=localstack starts and takes that, PARAMETERS='Name=value …' sets the template's

build: .venv/installed.lock ## sam build, and the template for TARGET=ministack or localstack, in .aws-sam/build
	@TARGET=$(TARGET) $(PY) -m tests.environment.build

logs: .venv/installed.lock ## what the functions logged; FUNCTION=ScoringWorker, FOLLOW=1
	@$(PY) -m tests.environment.logs

token: .venv/installed.lock ## make a token for a caller: USER=ann ROLE=user; take one back: REVOKE=…
	@PYTHONPATH=$(CODE) $(PY) -m tests.environment.token

# By the environment, whatever quotes are in it; and every shell has a USER of its own, who is not meant.
token grant: export USER_NAME = $(if $(filter command,$(origin USER)),$(value USER))

grant: .venv/installed.lock ## give credits to a caller: USER=ann CREDITS=100; ID=welcome gives them once
	@PYTHONPATH=$(CODE) $(PY) -m tests.environment.grant

grant: export CREDITS := $(value CREDITS)
grant: export GRANT_ID := $(value ID)

check: .venv/installed.lock ## lint, types, layers, template
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	PYTHONPATH=$(CODE) $(PY) .venv/bin/lint-imports
	$(PY) .venv/bin/cfn-lint template.yaml
	$(PY) -m tests.environment.sam validate --lint
	$(PY) -m tests.environment.workflows

format: .venv/installed.lock ## write the code in the form that check wants
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

bench: .venv/installed.lock ## what a cold start costs beside boto3 itself, permits and reservations beside the bare calls, and a search
	@$(PY) -m tests.benchmarks.cold_start
	@PYTHONPATH=$(CODE) $(PY) -m tests.benchmarks.permits
	@PYTHONPATH=$(CODE) $(PY) -m tests.benchmarks.reservations
	@PYTHONPATH=$(CODE) $(PY) -m tests.benchmarks.vectors

lock: ## pin anew what requirements-dev.in and the layer's requirements.in ask for; needs uv
	uv pip compile $(LOCK) requirements-dev.in --output-file requirements.lock
	cd layers/isolane && uv pip compile $(LOCK) requirements.in --output-file requirements.lock

LOCK := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

clean: down ## remove what was installed and built; the data stay
	@rm -rf .venv .aws-sam .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# The environment is made when its copy of the lock file, which is written last, differs from ours.
.venv/installed.lock: $(if $(shell cmp -s requirements.lock .venv/installed.lock && echo same),,FORCE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or later is needed: make PYTHON=python3.13 …" >&2; exit 1; }
	@$(PYTHON) -m tests.environment.install

FORCE:
