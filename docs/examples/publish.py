"""Publishes a node to a Detour registry with nothing but Python 3.8 or newer.

usage: publish.py HOST:PORT CLUSTER ID GROUP ENDPOINT

Each line on standard input is a status to report (active, paused, ...), an empty
line is a pulse; at the end of input the node leaves. Each answer is printed.
"""
import json, pathlib, secrets, socket, sys

LUA = pathlib.Path(__file__).resolve().parents[2] / "pkg" / "cluster" / "lua"
KEYS = "nodes reports figures pulses pauses groups epoch left lease fence events work".split()
if len(sys.argv) != 6:
    sys.exit(__doc__)
address, cluster, node, group, endpoint = sys.argv[1:]
prefix = "{detour:%s}:" % cluster
host, port = address.rsplit(":", 1)
wire = socket.create_connection((host, int(port)), timeout=5).makefile("rwb")


def call(*words):
    words = [str(word).encode() for word in words]
    wire.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
    wire.flush()
    return reply()


def reply():
    line = wire.readline().decode().rstrip()
    if line[:1] == "*":
        return [reply() for _ in range(int(line[1:]))]
    if line[:1] == "$":
        return wire.read(int(line[1:]) + 2)[:-2].decode() if line != "$-1" else None
    if line[:1] in ("-", ""):
        sys.exit("publish.py: " + (line or "connection closed"))
    return line[1:]


def now():
    seconds, micros = call("TIME")
    return int(seconds) * 1000 + int(micros) // 1000


def run(script, *args):
    text = (LUA / "common.lua").read_text() + (LUA / (script + ".lua")).read_text()
    word, epoch = call("EVAL", text, len(KEYS), *(prefix + key for key in KEYS), now(), prefix + "changes", node, generation, *args)[:2]
    print(script, word, epoch, flush=True)
    return word


def report():
    return json.dumps({"generation": generation, "status": status})


started = now()
generation, status = "%013d-%s" % (started, secrets.token_hex(4)), "active"
descriptor = json.dumps({"id": node, "group": group, "generation": generation, "endpoint": endpoint, "pulse_ms": 5000, "started_ms": started})
word = run("register", descriptor, report())
for line in sys.stdin:
    status = line.strip() or status
    word = run("report", report()) if line.strip() else run("pulse", "")
    if word == "register":  # the registry has lost the node
        word = run("register", descriptor, report())
    if word in ("left", "superseded"):  # a newer start has the id
        sys.exit(1)
run("leave", now() + 600_000)
