"""Small programs that run beside the brokers, where alone these can be reached and their processes have their own numbers.

Where nothing of a package is needed they run in a bare Python, which starts in some milliseconds.
"""

READ_USAGE = """
import json, os, sys
reset, *pids = sys.argv[1:]
ticks, found = os.sysconf("SC_CLK_TCK"), []
for pid in pids:
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    written = dict(line.split(": ") for line in open(f"/proc/{pid}/io").read().splitlines())["write_bytes"]
    memory = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status").read().splitlines())
    kb = lambda name: int(memory[name].split()[0]) * 1024
    found.append({"user": int(fields[11]) / ticks, "system": int(fields[12]) / ticks, "written": int(written),
                  "resident": kb("VmRSS"), "peak": kb("VmHWM")})
    if reset == "1":
        try:
            open(f"/proc/{pid}/clear_refs", "w").write("5")
        except OSError:
            pass
print(json.dumps(found))
"""

AWAIT_BROKERS = """
import socket, struct, sys, time
steady, patience, *addresses = sys.argv[1:]
deadline, since, length = time.monotonic() + float(patience), None, struct.Struct(">i")
body = struct.pack(">hhih", 3, 7, 1, -1) + struct.pack(">i?", 0, False)
def known(address):
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=2) as connection:
            connection.sendall(length.pack(len(body)) + body)
            answer = b""
            while len(answer) < 16:
                part = connection.recv(65536)
                if not part:
                    return -1
                answer += part
        return length.unpack_from(answer, 12)[0]
    except OSError:
        return -1
while True:
    if all(known(address) == len(addresses) for address in addresses):
        since = since or time.monotonic()
        if time.monotonic() - since >= float(steady):
            break
    else:
        since = None
    if time.monotonic() > deadline:
        sys.exit(f"after {patience} s not every broker knows all {len(addresses)}")
    time.sleep(0.02)
print(since + float(steady))
"""

READ_METRICS = """
import json, sys, urllib.request
pages = [urllib.request.urlopen(f"http://{address}/metrics", timeout=20).read().decode() for address in sys.argv[1:]]
lines = [[line.split() for line in page.splitlines() if not line.startswith("#")] for page in pages]
print(json.dumps([{name.removeprefix("highwater_"): float(value) for name, value in one} for one in lines]))
"""

MAKE_TOPIC = """
import json, sys
from confluent_kafka.admin import AdminClient, NewTopic
servers, name, partitions, replicas, settings, patience = json.loads(sys.argv[1])
admin = AdminClient({"bootstrap.servers": servers})
topic = NewTopic(name, partitions, replicas, config=settings)
try:
    admin.create_topics([topic], operation_timeout=patience, request_timeout=patience)[name].result()
except Exception as problem:
    sys.exit(str(problem))
"""

DELETE_TOPIC = """
import json, sys
from confluent_kafka.admin import AdminClient
servers, name, patience = json.loads(sys.argv[1])
admin = AdminClient({"bootstrap.servers": servers})
try:
    admin.delete_topics([name], operation_timeout=patience, request_timeout=patience)[name].result()
except Exception as problem:
    sys.exit(str(problem))
"""
