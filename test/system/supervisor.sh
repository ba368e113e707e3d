#!/bin/bash
# The supervisor of images: an executive that dies or is stuck is started again and counted, its last events are kept, a set that fails gives way
# to the safe one, and the hardware's watchdog (here a plain file) is fed as long as that goes well, and ended by an orderly stop alone.
set -u
. test/support/expect.bash
enter "$1"
supervisor=$folder/bin/rtexec-supervisor
[ -x "$supervisor" ] || { echo "skipped: no supervisor was built"; exit 77; }
complain() { echo "$*"; tail -n 20 log 2>/dev/null; bad=1; }
count() { sed -n "s/^$1 = //p" data/supervisor.counts 2>/dev/null; }
holds() { # WHAT COMMAND...: within a minute
  local what=$1; shift
  await "${*@Q}" || { complain "not within a minute: $what"; return 1; }
}
is() { [ "$(count "$1")" = "$2" ]; }
fed() { stat -c %s watchdog; }
is_fed() { # within half a second, of several, in all of which a busy machine holds nobody up
  local before _
  for _ in 1 2 3 4 5 6; do before=$(fed); sleep 0.5; [ "$(fed)" -gt "$before" ] && return; done
  return 1
}
ends_in_v() { [ "$(tail -c 1 watchdog | tr -d '\0')" = V ]; }
begin() { # ARGUMENT...: of the supervisor, which has a second or two for what else takes many
  : > watchdog
  timeout 300 "$supervisor" --data data --watchdog watchdog --timeout 1 --silence 3 --stop 10 --proof 1 "$@" > log 2>&1 & pid=$!
  supervisor_pid=
  await 'supervisor_pid=$(pgrep -P "$pid" -x rtexec-supervis) || ! kill -0 "$pid" 2>/dev/null' # or it has ended
}
kill_standin() { kill -KILL "$(sed -n 's/.*, process \([0-9]*\)$/\1/p' log | tail -n 1)" 2>/dev/null; } # the last one, which its supervisor left
end() { # CODES: one of them
  local status
  kill -TERM "$supervisor_pid"; wait "$pid"; status=$?
  grep -qw "$status" <<<"$1" || complain "expected exit $1, got $status"
  ends_in_v || complain "the watchdog goes on after an orderly stop"
}
trap 'kill -KILL ${supervisor_pid-} ${executive-} 2>/dev/null; [ -z "${recorder-}" ] || kill "$(cat "$recorder")"; umount data 2>/dev/null; rm -rf "$work"' EXIT

# ---- with a stand-in that does what the name of its set says, and no recorder ----
mkdir bin data
printf '#!/bin/bash\nexit 1\n' > bin/lttng-sessiond
cat > bin/standin <<'PY'
#!/usr/bin/env python3
import os, signal, socket, sys, time
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
tell = lambda text: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(text.encode(), os.environ['NOTIFY_SOCKET'])
name = sys.argv[2]
print('runs', *sys.argv[1:3], flush=True)
if name == 'refused': sys.exit(2)
tell('READY=1')
if name == 'dies': sys.exit(1)
if name == 'ends':
    tell('STOPPING=1\nSTATUS=Stopped by duration')
    sys.exit(4)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True:
    if name != 'silent': tell('WATCHDOG=1')
    time.sleep(0.1)
PY
chmod +x bin/*
usual_path=$PATH; PATH=$work/bin:$PATH

begin --rtexec standin good safe
holds "the run proves itself" is failed_boots 0
is_fed || complain "the watchdog is not fed"
end 0
is boots 1 && is starts 1 && is deaths 0 && is failed_boots 0 || complain "one start: $(cat data/supervisor.counts)"

begin --rtexec standin refused safe
holds "a refused set gives way at once" is safe_starts 1
is refusals 1 && is starts 3 || complain "refused: $(cat data/supervisor.counts)"
holds "the safe set runs" grep -q 'runs run safe' log
sleep 2; is failed_boots 1 || complain "the safe set is no proof of the other"
kill -KILL "$supervisor_pid"; wait "$pid" 2>/dev/null
ends_in_v && complain "who is killed does not end the watchdog"
kill_standin

rm -r data/*
for boot in 1 2 3; do
  begin --rtexec standin silent ""
  holds "boot $boot: it is killed" is silences $boot
  kill -KILL "$supervisor_pid"; wait "$pid" 2>/dev/null
  kill_standin
  is failed_boots $boot || complain "boot $boot: $(cat data/supervisor.counts)"
done
begin --rtexec standin good safe
holds "after three failed boots the safe set runs" is safe_starts 1
end 0
is failed_boots 3 || complain "an orderly stop is no failure"
begin --rtexec standin good safe
holds "until somebody looks" is safe_starts 2
end 0
rm -r data/*
begin --rtexec standin good safe
holds "and anew where nothing was counted" is failed_boots 0
end 0
is safe_starts 0 || complain "the safe set ran all the same"

# Boots are counted on a partition that is full too, where it has the file; where it never had room for one, the safe set runs.
rm -r data/*
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k none data 2> /dev/null; then
  fill() { dd if=/dev/zero of=data/fill bs=4k status=none 2> /dev/null; [ -s data/fill ] || complain "it is not full"; }
  begin --rtexec standin good safe
  holds "it has the file" is failed_boots 0
  end 0
  fill
  for boot in 1 2 3; do
    begin --rtexec standin silent ""
    holds "full, boot $boot: it is killed" is silences $boot
    kill -KILL "$supervisor_pid"; wait "$pid" 2>/dev/null; kill_standin
    is failed_boots $boot || complain "full, boot $boot: $(cat data/supervisor.counts)"
  done
  begin --rtexec standin good safe
  holds "after three failed boots on a full partition the safe set runs" grep -q 'runs run safe' log
  end 0
  rm -r data/*; fill
  begin --rtexec standin good safe
  holds "where nothing can be counted the safe set runs" grep -q 'runs run safe' log
  grep -q 'not counted: data/supervisor.counts: No space left' log || complain "it does not say why"
  end 0
  umount data
else
  echo "no partition could be made here, and filled"
fi

# Whoever can write there, or takes names of sockets, keeps nobody from arming the watchdog, and from starting.
rm -rf data/*; mkfifo data/supervisor.counts
begin --rtexec standin good safe
is_fed || complain "a named pipe in place of the counts: the watchdog is not fed"
holds "a named pipe in place of the counts is replaced" is failed_boots 0
end 0
mkfifo fifo
"$supervisor" --data data --watchdog fifo --rtexec standin ends "" > log 2>&1 & pid=$!
holds "a named pipe in place of the watchdog is waited for by nobody" grep -q 'no hardware watchdog resets this machine: fifo' log
wait $pid

begin --rtexec standin ends ""
wait "$pid"; [ $? = 4 ] && ends_in_v || complain "the exit code of a run that ended is the supervisor's"
begin --rtexec standin dies dies
wait "$pid"; [ $? = 1 ] || complain "it does not give up"
ends_in_v && complain "the watchdog was ended where all is lost"
begin --rtexec /no/such/program good safe
wait "$pid"; [ $? = 1 ] || complain "a program that is not there"
expect 2 'unknown option or invalid value' "$supervisor" --nonsense 1 a b
expect 2 'Run a task set' "$supervisor" a
expect 2 'invalid value' "$supervisor" --timeout 0 a b
expect 0 'Exit codes' "$supervisor" --help
PATH=$usual_path; rm -r bin

# ---- with the executive ----
executive_of() { pgrep -P "$supervisor_pid" -x rtexec; }
released() { executive=$(executive_of) && has_released "$executive"; }
if command -v lttng-sessiond > /dev/null; then
  for recorder in /var/run/lttng "${LTTNG_HOME:-$HOME}/.lttng"; do [ "$(id -u)" = 0 ] && break; done
  recorder+=/lttng-sessiond.pid
  # The file of one that was killed stays.
  if [ -e "$recorder" ] && kill -0 "$(cat "$recorder")" 2>/dev/null; then echo "skipped: a session daemon runs that is not this test's"; recorder=; exit 77; fi
fi
{ printf '[executive]\nallow_degraded=true\n'; task a 50ms 1ms; } > set.toml
rm -r data/*
begin --rtexec "$rtexec" --silence 4 set.toml set.toml -- --force
if ! holds "it runs" released; then recorder=; exit 1; fi
first=$executive
kill -KILL "$first"
holds "its death is counted" is deaths 1
holds "it is started again" released
[ "$executive" != "$first" ] || complain "it was not killed"
[ -z "${recorder-}" ] || compgen -G "data/recordings/1/snapshot-*/" >/dev/null || complain "its last events are lost"
kill -STOP "$executive"
holds "its silence is counted" is silences 1
holds "it is started once more" released
is starts 3 && is_fed || complain "three starts: $(cat data/supervisor.counts)"
[ -z "${recorder-}" ] || expect '0 4' 'a ' "$rtexec" analyze data/recordings/2/snapshot-*
end '0 4'
[ ! -e /proc/"$executive" ] || complain "the executive was left behind"

begin --rtexec "$rtexec" --silence 4 set.toml set.toml -- --force
holds "it runs" released
kill -KILL "$supervisor_pid"; wait "$pid" 2>/dev/null
sleep 1; ends_in_v && complain "the watchdog does not reset the machine"
if [ -n "${recorder-}" ]; then
  [ -e /proc/"$executive" ] || complain "the jobs do not go on until the reset"
  holds "an orphan writes its last events" compgen -G "data/recordings/4/snapshot-*" > /dev/null
fi
kill -KILL "$executive" 2>/dev/null

begin --rtexec "$rtexec" --silence 4 set.toml "" -- --force --duration 1s
wait "$pid"; status=$?
[[ $status = [04] ]] && ends_in_v || complain "a run whose duration is over: exit $status"
exit $bad
