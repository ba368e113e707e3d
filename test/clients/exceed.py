"""exceed.py: declares 0.6 s of each second, then starts a second client that does too: prints what each is told."""

import subprocess
import sys

import rtexec_client
import torch

torch.zeros(1, device="cuda")
try:
    print("promised within", rtexec_client.declare(1.0, 1.0, 0.6), "s")
except rtexec_client.NotProved as refusal:
    print("refused:", refusal)
sys.stdout.flush()
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "second"], check=True)
