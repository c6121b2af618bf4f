"""A web application that does what main.go's does, with threads, and nothing but the
standard library. The module gate is the documentation's text."""

import http.server
import socket
import sys
import time

from gate import gate

GATE, DATABASE = sys.argv[1], sys.argv[2].rsplit(":", 1)
PAUSE = 0.3  # between two questions


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with gate(GATE) as go:
            if not go:
                self.send_response(503)
                self.send_header("Retry-After", "1")
                self.end_headers()
                return
            began = time.time_ns()
            try:
                self.run()
            finally:
                print(f"ran {began} {time.time_ns()}\n", end="", flush=True)

    def run(self):
        """Answer what the database says, while it says it."""
        times = int(self.path.split("/")[1])
        with socket.create_connection(DATABASE) as database:
            answers = database.makefile()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.path.encode())
            for i in range(times):
                if i > 0:
                    time.sleep(PAUSE)
                database.sendall(b"version\n")
                answer = answers.readline().strip()
                if not answer:
                    raise ConnectionError("the database has gone")
                self.wfile.write(b" " + answer.encode())

    def log_message(self, *args):
        pass  # standard error is for what goes wrong


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print("listening 127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
