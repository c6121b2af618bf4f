import contextlib
import socket


@contextlib.contextmanager
def gate(path, patience=15):
    """True once the request may begin, False if it is to be answered 503."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(patience)
        try:
            s.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            yield True  # no agent: then nobody pauses this node either
            return
        except OSError:
            yield False  # the agent cannot be asked
            return
        try:
            go = s.recv(1) == b"G"
        except OSError:
            go = False
        yield go  # the request is in flight until the block is left
