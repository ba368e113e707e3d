# For scripts of test/system/ with an rtexecd in a folder `run` over a driver of CUDA in software, and preloaded processes as its clients.
. test/support/expect.bash
complain() { echo "$*"; bad=1; }
write_daemon_file() { # CAPACITY CHUNK [LINES]: d.toml, with LINES in [daemon]
  cat > d.toml <<END
board = "host"
[daemon]
directory = "run"
best_effort_wcet = "20ms"
${3-}
[device]
capacity = "$1"
chunk = "$2"
[device.swap_cost]
in_per_chunk = "2ms"
out_per_chunk = "2ms"
END
}
await_socket() {
  await '[ -S run/socket ]' || complain "rtexecd does not listen: $(cat log)"
}
as_client() { # NAME COMMAND...: said in NAME.out and NAME.err
  LD_LIBRARY_PATH=$folder/test/preload LD_PRELOAD=${PRELOAD:-$folder/lib/librtexec-preload.so} RTEXEC_DAEMON=$work/run RTEXEC_CLIENT=$1 \
    "${@:2}" > "$1.out" 2> "$1.err"
}
