#!/bin/bash
# rtexecd with processes that are killed, stopped or hang at every point of their lives as clients, over a driver of CUDA in software.
exec python3 test/system/crashes.py "$1"
