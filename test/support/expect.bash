# For scripts of test/system/ that run the program in many ways: `bad` is 1 once something was not as expected.
bad=0
# The script goes on in a folder of its own, $work; FOLDER is what was built, with the program $rtexec.
enter() { # FOLDER
  folder=$(realpath "$1")
  rtexec=$folder/bin/rtexec
  work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
  cd "$work" || exit
}
await() { # CONDITION, a line of shell: until it holds; 1 where it does not within a minute
  local _
  for _ in {1..3000}; do eval "$1" && return; sleep 0.02; done
  return 1
}
has_released() { # PID: whether this run has released a job
  "$rtexec" top "$1" --once --json - 2>/dev/null | grep -q '"released": [1-9]'
}
# CODES: one of them. A busy machine may break the bound of a run: where that is not the question, "0 4" will do.
expect() { # CODES PATTERN COMMAND...
  local codes=$1 pattern=$2; shift 2
  local out status
  out=$("$@" 2>&1); status=$?
  grep -qw "$status" <<<"$codes" || { echo "expected exit $codes, got $status: $*"; echo "$out"; bad=1; }
  grep -qE -- "$pattern" <<<"$out" || { echo "expected /$pattern/ from: $*"; echo "$out"; bad=1; }
}
# A background program that a signal cancels: it ends within half a minute, and says so.
expect_cancelled() { # SIGNAL PID LOG
  local signal=$1 pid=$2 log=$3 status i
  kill -"$signal" "$pid"
  for ((i = 0; i < 300; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -KILL "$pid" 2>/dev/null
  wait "$pid"; status=$?
  [ $status = 5 ] && grep -q 'was cancelled' "$log" || { echo "SIG$signal: exit $status"; cat "$log"; bad=1; }
}
# A [[task]] of a task set.
task() { # NAME PERIOD WCET [LINES]
  printf '[[task]]\nname="%s"\nworkload="synthetic"\nperiod="%s"\nwcet="%s"\nfootprint="1MiB"\n%s\n' "$1" "$2" "$3" "${4-}"
}
