# Runs in the guest that is booted for the first time: it goes down once the bring-up has ended, and the supervisor begun.
cd /data
i=0
while [ $i -lt 240 ] && [ ! -s supervisor.counts ]; do i=$((i + 1)); sleep 1; done # the supervisor begins after it
kill -USR2 1
