# Short names for plain commands; CI runs the same ones.

# What must be true of every commit.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings

# All tests, or those whose name contains FILTER.
test filter="":
    cargo test --workspace --locked {{filter}}

# Rewrite the snapshots tests compare with. Look at the difference before you commit it.
bless filter="":
    BLESS=1 cargo test --workspace --locked {{filter}}

# The tests that hold the documents to the code.
docs:
    cargo test --locked --package heirloom --test runner docs

# Fetch the real programs the tests drive: about 2 GB, once.
programs:
    scripts/real-programs

# The tests of the page in a real browser: Chromium and playwright-core are installed once.
page:
    scripts/browser
    cargo test --locked --package heirloom --test runner -- --ignored browser::

# The tests that need what the repository does not hold, those whose name contains FILTER: first sessions recorded from
# the real programs (HEIRLOOM_RECORDINGS, else ../shared), then the real programs themselves (HEIRLOOM_PROGRAMS). Where
# either is missing they fail.
real filter="":
    cargo test --workspace --locked -- --ignored recorded::{{filter}}
    HEIRLOOM_PROGRAMS="${HEIRLOOM_PROGRAMS:-${CARGO_TARGET_DIR:-target}/programs}" cargo test --locked --package heirloom --test runner -- --ignored real::{{filter}} --skip what_a_turn_costs --nocapture

# Faults (hours; needs strace): first kills, disks that fail and power cuts at every system call with which a command or a
# migration changes a file. HEIRLOOM_FAULTS=10 tries every tenth of them, HEIRLOOM_FAULTS_OF=append one command;
# TMPDIR=/dev/shm is faster and finds the same. Then, in their long forms: kills at any time, folders that are swapped,
# clocks that jump, two versions at once, hostile paths and stores, 100,000 damaged lines.
faults:
    cargo test --locked --package heirloom --test runner -- --ignored faults:: --nocapture
    HEIRLOOM_TEST_FULL=1 cargo test --workspace --locked -- killed swap clock_that boot_clock schema older_build newer_build hostile damage broken_lines no_schedule lost:: foreign::

# What it costs in made-up homes, or another measurement of the laboratory: just bench recall --locomo FILE
bench *args="speed":
    cargo build --release --locked
    cargo run --release --locked --package heirloom-lab -- {{args}}

# Everything a fresh machine runs.
ci:
    .ci/run
