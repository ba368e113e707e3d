#!/bin/bash
# make deploy: the program is copied to the board that is meant, and to no other, and brought up there; by a stand-in for ssh.
set -u
. test/support/expect.bash
top=$PWD
enter "$1"
mkdir -p bin board/tree dist/bin set
cat > bin/ssh <<END
#!/bin/bash
# The board: a folder, whose device tree is a file of it.
while [[ \$1 = -* ]]; do [ "\$1" = -o ] && shift; shift; done
[ "\$1" = user@board ] || { echo "no such host"; exit 255; }
cd "$work/board" && exec bash -c "\${2//\/proc\/device-tree/tree}"
END
cat > dist/bin/rtexec <<'END'
#!/bin/sh
echo "TAP version 13"; echo "$*" >> calls
echo '{}' > "$3"; echo '<html>' > "$5"; exit "$(cat status 2>/dev/null || echo 0)"
END
chmod +x bin/ssh dist/bin/rtexec; PATH=$work/bin:$PATH
echo 'board="host"' > set/tasks.toml
deploy() { (cd "$top" && boards/image/deploy "$1" "$work/dist" "$2" "$3"); }

expect 0 'TAP version 13' deploy host "" user@board
expect 0 '^bringup --json .* --board host$' cat board/calls # of some boards no device tree tells
[ -s dist.bringup.json ] && [ -s dist.bringup.html ] || { echo "the report does not come back"; bad=1; }
expect 0 '' deploy host "$work/set" user@board
[ -e board/rtexec/set/tasks.toml ] && [ -e board/rtexec.before/bin/rtexec ] || { echo "sets, or what was there before: $(ls board board/*)"; bad=1; }
echo 4 > board/status
expect 4 'report: ' deploy host "" user@board
cat > bin/mv <<'END'
#!/bin/sh
[ "$1" != rtexec ] && exec /bin/mv "$@"
echo "mv: no room"; exit 1
END
chmod +x bin/mv
expect 1 'no room' deploy host "" user@board
rm bin/mv
[ ! -e board/rtexec/rtexec.new ] || { echo "one program lies in the other"; bad=1; }
rm -r board/rtexec* board/status
expect 5 'cannot be reached' deploy host "" user@elsewhere
expect 5 'machine of another kind: ' deploy "$([ "$(uname -m)" = aarch64 ] && echo rtx || echo tx2)" "" user@board

# The machines of boards differ from this one: their names are tried with files of this machine.
mkdir -p here/boards; sed "s/^machine = .*/machine = \"$(uname -m)\"/" "$top/boards/tx2.toml" > here/boards/tx2.toml
sed "s/^machine = .*/machine = \"$(uname -m)\"/" "$top/boards/xavier.toml" > here/boards/xavier.toml
printf 'nvidia,quill\0nvidia,p2771-0000\0nvidia,tegra186\0' > board/tree/compatible
on() { (cd here && "$top/boards/image/deploy" "$1" "$work/dist" "" user@board); }
expect 0 'TAP version 13' on tx2
rm -r board/rtexec
expect 5 'is not the board xavier: its device tree says nvidia,quill nvidia,p2771-0000 nvidia,tegra186, and .* wants one of: ' on xavier
[ ! -e board/rtexec ] || { echo "copied to another board"; bad=1; }
exit $bad
