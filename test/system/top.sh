#!/bin/bash
# rtexec top beside a run: once for people and scripts, on a terminal, in a pipe, to the end of the run and after it was killed.
set -u
# With a /dev/shm of its own, where it may: whoever looks for runs removes what others left behind.
if [ -z "${own_pages-}" ] && unshare --mount mount -t tmpfs pages /dev/shm 2>/dev/null; then
  export own_pages=1
  exec unshare --mount bash -c 'mount -t tmpfs pages /dev/shm && exec bash "$@"' - "$0" "$@"
fi
. test/support/expect.bash
enter "$1"; trap 'rm -rf "$work"; rm -f /dev/shm/rtexec.${run-none}.*' EXIT
ask() { python3 -c "import json, sys; d = json.load(open('$1')); print($2)"; } # FILE.json EXPRESSION
{ printf '[executive]\nduration="120s"\nallow_degraded=true\n'; task front 50ms 2ms; task rear 80ms 3ms; } > set.toml
begin() { # a run in the background, until it is seen
  "$rtexec" run set.toml --json report.json >run.log 2>&1 & run=$!
  await '"$rtexec" top $run --once >/dev/null 2>&1' || { echo "the run is not seen:"; cat run.log; bad=1; }
}

begin
"$rtexec" top $run --interval 500ms >listed 2>&1 & list=$!
expect 0 'front .*on|front .*waiting' "$rtexec" top $run --once
expect 0 "^set.toml, process $run: " "$rtexec" top $run --once
expect 0 '' "$rtexec" top $run --once --json top.json
expect 0 "^\['front', 'rear'\] proved edf None host False$" ask top.json "[t['name'] for t in d['tasks']], d['verdict'], d['order'], d['swap_policy'], d['device']['name'], d['ended']"
expect 0 '^120000000000 50000000 True$' ask top.json "d['duration_ns'], d['tasks'][0]['period_ns'], all(t['completed'] <= t['released'] for t in d['tasks'])"
expect 0 '"process": ' "$rtexec" top $run --once --json -
expect 2 'needs|requires' "$rtexec" top $run --json top.json
expect 2 '[-][-]interval 5' "$rtexec" top $run --interval 5
expect 2 'from 10ms' "$rtexec" top $run --interval 1ms
expect 2 'process 1 has no rtexec run' "$rtexec" top 1 --once
page=$(ls /dev/shm/rtexec.$run.*)
cp $page /dev/shm/rtexec.$run.99
expect 2 "rtexec top $run.99 .*set.toml, 2 tasks" "$rtexec" top $run --once
expect 0 "process $run" "$rtexec" top $run.99 --once
truncate -s 500 /dev/shm/rtexec.$run.99
expect 5 'is damaged' "$rtexec" top $run.99 --once
rm /dev/shm/rtexec.$run.99
expect 0 600 stat -c %a $page
kill -INT $run; wait $run; status=$?
expect '0 4' '' bash -c "exit $status"
wait $list; status=$?
expect 0 'The run has ended .request.' bash -c "cat listed; exit $status"
expect 0 "^True None$" ask report.json "d['status_page']['file'] == '$page', d['status_page']['failure']"
[ ! -e $page ] || { echo "$page is still there"; bad=1; }
expect 2 "process $run has no rtexec run" "$rtexec" top $run

# On a terminal: keys, a new size, signals; the terminal is given back as it was.
cat > terminal.py <<'END'
import fcntl, os, pty, signal, struct, sys, termios, time
program, run, how = sys.argv[1:]
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
before = termios.tcgetattr(slave)
child = os.fork()
if child == 0:
    os.environ["TERM"] = "xterm"
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for target in (0, 1, 2): os.dup2(slave, target)
    os.execv(program, [program, "top", run, "--interval", "200ms"])
os.set_blocking(master, False)
seen = b""
def until(text, seconds=60):
    global seen
    end = time.monotonic() + seconds
    while text not in seen and time.monotonic() < end:
        try: seen += os.read(master, 1 << 16)
        except BlockingIOError: time.sleep(0.01)
    return text in seen
ok = until(b"q: quit")
ok = ok and not termios.tcgetattr(slave)[3] & termios.ECHO
os.write(master, b"s"); ok = until(b"Tasks by misses") and ok
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 4, 100, 0, 0))
os.kill(child, signal.SIGWINCH)
if how == "q": os.write(master, b"q")
elif how == "interrupt": os.write(master, b"\x03")
elif how == "terminate": os.kill(child, signal.SIGTERM)
elif how == "end": os.kill(int(run), signal.SIGINT)
ok = until(b"\x1b[?1049l") and ok
if how == "end": ok = until(b"The run has ended") and ok
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(how, status, ok, seen.startswith(b"\x1b[?1049h"), termios.tcgetattr(slave) == before, b"\x1b[1m" in seen)
END
begin
expect 0 '^q 0 True True True True$' python3 terminal.py "$rtexec" $run q
expect 0 '^interrupt 0 True True True True$' python3 terminal.py "$rtexec" $run interrupt
NO_COLOR=1 expect 0 '^terminate 0 True True True False$' python3 terminal.py "$rtexec" $run terminate
expect 0 '^end 0 True True True True$' python3 terminal.py "$rtexec" $run end
wait $run

# A run that is killed leaves its page behind, which is removed.
begin
page=$(ls /dev/shm/rtexec.$run.*)
"$rtexec" top $run --interval 100ms >followed 2>&1 & list=$!
await '[ -s followed ]'; kill -KILL $run; wait $run 2>/dev/null
wait $list; status=$?
expect 0 'process ended without a report' bash -c "cat followed; exit $status"
[ -e $page ] || { echo "$page was not left behind"; bad=1; }
expect 2 "removed $page, left behind by a killed run" "$rtexec" top $run --once
[ ! -e $page ] || { echo "$page is still there"; bad=1; }
exit $bad
