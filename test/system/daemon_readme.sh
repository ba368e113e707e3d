#!/bin/bash
# What rtexec/docs/user-guide/sharing-a-gpu.md says of a first run: its file and its commands as they stand there, with a stand-in for the program and its
# driver.
set -u
. test/support/expect.bash
readme=$(realpath rtexec/docs/user-guide/sharing-a-gpu.md)
enter "$1"
tests=$folder/test/preload
sed -n '/^```toml$/,/^```$/p' "$readme" | sed '/^```/d; s/"rtx"/"host"/; s/"3GiB"/"32MiB"/; s/"2GiB"/"16MiB"/; s/"64MiB"/"2MiB"/; s/"6ms"/"2ms"/g' > daemon.toml
grep -q 'period = "200ms"' daemon.toml || { echo "the page has no such file"; bad=1; }
mkdir bin
printf '#!/bin/bash\nexport LD_LIBRARY_PATH=%q\nexec timeout 400 %q 8 100000\n' "$tests" "$tests/sample_client" > bin/python3; chmod +x bin/python3
# The program alone is to have the library before it: what starts it is bash, which has no device.
ln -s "$folder/lib/librtexec-preload.so" .
printf '%s\n' "cd $work" > first.sh
sed -n '/^```sh$/,/^```$/p' "$readme" | sed '/^```/d; s|LD_PRELOAD=lib|LD_PRELOAD=./lib|; s|^rtexecd.*|timeout 500 &|' > commands
[ "$(wc -l < commands)" = 4 ] || { echo "the page has other commands than this knows"; cat commands; bad=1; }
{ sed -n 1p commands; echo 'daemon=$!; for i in $(seq 600); do [ -S run/socket ] && break; sleep 0.1; done'
  sed -n 2p commands; echo 'client=$!; for i in $(seq 600); do rtexec ps --daemon run | grep -q " front " && break; sleep 0.1; done'
  # The client goes on until both commands have been there; what it finds wrong would have ended it before.
  echo 'set -e'; sed -n '3,$p' commands; echo 'kill $client; wait $client || [ $? = 143 ]; kill $daemon; wait $daemon'; } >> first.sh
PATH=$work/bin:$folder/bin:$PATH timeout 600 bash first.sh > said 2>&1; status=$?
[ $status = 0 ] || { echo "the first run ended with $status"; bad=1; cat said; }
[ "$(grep -cE '^ +front +[0-9]+ ' said)" = 2 ] || { echo "the client is not seen by both commands"; bad=1; cat said; }
grep -qE '^ +front .* 200 ms .* 16.0 MiB' said || { echo "it is not declared by the file"; bad=1; cat said; }
exit $bad
