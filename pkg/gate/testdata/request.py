"""One request: prints what the gate says, and is done when a line comes in."""
import sys

from gate import gate

with gate(sys.argv[1]) as go:
    print("GO" if go else "503", flush=True)
    sys.stdin.readline()
