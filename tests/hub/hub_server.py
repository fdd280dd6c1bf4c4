# SPDX-License-Identifier: Apache-2.0
"""A small model hub on 127.0.0.1 with the parts of Hugging Face's API that `bittern pull` uses: the list of
files, the head of a file with its hash, a redirect of large files to another host (a second port), ranges.
Tests change `hook` to answer otherwise and read `log` to see what was asked."""
import hashlib
import http.server
import json
import ssl
import subprocess
import threading
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 100_000  # from here on a file is an LFS file, on the other host


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def setup(self):
        super().setup()
        self.sent = 0

    def do_GET(self):
        self.answer()

    def do_HEAD(self):
        self.answer()

    def answer(self):
        hub = self.server.hub
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        self.kind, self.what = self.sort(path)
        hub.note({"host": self.server.role, "method": self.command, "path": path, "kind": self.kind,
                  "authorization": self.headers.get("Authorization"), "range": self.headers.get("Range")})
        try:
            if hub.hook is None or not hub.hook(self):
                getattr(self, "give_" + self.kind)()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def sort(self, path):
        if self.server.role == "cdn":
            return "blob", path.removeprefix("/blob/")
        if path.startswith("/api/models/") and "/tree/" in path:
            return "tree", path.removeprefix("/api/models/")
        if path.startswith("/api/models/"):
            return "list", path.removeprefix("/api/models/")
        if "/resolve/" in path:
            return "file", path.lstrip("/")
        return "nothing", path

    def send(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in fields:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def raw(self, data):
        """Bytes as they are; the connection ends after them."""
        self.wfile.write(data)
        self.wfile.flush()
        self.close_connection = True

    def give_nothing(self):
        self.send(404, b"Not Found")

    def may_read(self, repo):
        token = self.server.hub.repos[repo].get("token")
        return token is None or self.headers.get("Authorization") == "Bearer " + token

    def refuse(self, repo):
        known = repo in self.server.hub.repos
        self.send(401, b"{}", X_Error_Code="GatedRepo" if known else "RepoNotFound")

    def give_list(self):
        hub = self.server.hub
        repo, _, revision = self.what.partition("/revision/")
        if repo not in hub.repos or not self.may_read(repo):
            return self.refuse(repo)
        if revision not in ("main", COMMIT):
            return self.send(404, b"{}", X_Error_Code="RevisionNotFound")
        self.send(200, json.dumps(hub.listing(repo)).encode(), Content_Type="application/json")

    def give_tree(self):
        """The list as huggingface_hub asks for it."""
        repo, _, revision = self.what.partition("/tree/")
        hub = self.server.hub
        if repo not in hub.repos or revision not in ("main", COMMIT) or not self.may_read(repo):
            return self.refuse(repo)
        files = [{"type": "file", "path": entry["rfilename"], "size": entry["size"], "oid": entry["blobId"]}
                 | ({"lfs": {**entry["lfs"], "oid": entry["lfs"]["sha256"]}} if "lfs" in entry else {})
                 for entry in hub.listing(repo)["siblings"]]
        self.send(200, json.dumps(files).encode(), Content_Type="application/json")

    def give_file(self):
        hub = self.server.hub
        repo, _, rest = self.what.partition("/resolve/")
        revision, _, path = rest.partition("/")
        if repo not in hub.repos or not self.may_read(repo):
            return self.refuse(repo)
        data = hub.repos[repo]["files"].get(path)
        if data is None or revision not in ("main", COMMIT):
            return self.send(404, b"Entry not found", X_Error_Code="EntryNotFound", X_Repo_Commit=COMMIT)
        if len(data) < LARGE:
            return self.send(200, data, ETag='"%s"' % git_sha1(data), X_Repo_Commit=COMMIT)
        self.send(302, b"Found", Location="%s/blob/%s?signature=secret" % (hub.cdn, sha256(data)),
                  X_Linked_Etag='"%s"' % sha256(data), X_Linked_Size=str(len(data)), X_Repo_Commit=COMMIT,
                  ETag='"not-the-hash"')

    def give_blob(self):
        data = self.server.hub.blobs.get(self.what)
        if data is None:
            return self.send(404)
        self.give_range(data)

    def give_range(self, data):
        asked = self.headers.get("Range")
        if not asked:
            return self.send(200, data, ETag='"x"')
        first, last = asked.removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last or len(data)), len(data) - 1)
        if first >= len(data):
            return self.send(416, Content_Range="bytes */%d" % len(data))
        self.send(206, data[first:last + 1], Content_Range="bytes %d-%d/%d" % (first, last, len(data)))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass


def make_certificate(folder):
    """A file with a key and its certificate (PEM) for this machine, which is its own authority; by openssl."""
    key, certificate = folder / "cert.pem", folder / "c"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, capture_output=True)
    key.write_text(key.read_text() + certificate.read_text())
    return key


class Hub:
    def __init__(self, tls=None):
        """tls: a file with key and certificate (PEM); both hosts then speak https."""
        self.repos, self.blobs, self.log, self.hook = {}, {}, [], None
        self.lock = threading.Lock()
        self.servers = []
        for role in ("hub", "cdn"):
            server = Server(("127.0.0.1", 0), Handler)
            server.hub, server.role = self, role
            if tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(tls)
                server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            self.servers.append(server)
        self.url, self.cdn = ("http%s://127.0.0.1:%d" % ("s" if tls else "", s.server_address[1]) for s in self.servers)

    def add(self, repo, files, token=None):
        self.repos[repo] = {"files": files, "token": token}
        for data in files.values():
            self.blobs[sha256(data)] = data

    def listing(self, repo):
        siblings = []
        for path, data in self.repos[repo]["files"].items():
            entry = {"rfilename": path, "size": len(data), "blobId": git_sha1(data)}
            if len(data) >= LARGE:
                entry["blobId"] = git_sha1(b"pointer of " + data[:100])
                entry["lfs"] = {"sha256": sha256(data), "size": len(data), "pointerSize": 134}
            siblings.append(entry)
        return {"_id": "1", "id": repo, "sha": COMMIT, "private": False, "gated": False, "siblings": siblings,
                "cardData": {"license": "mit", "tags": ["ternary"]}}

    def note(self, entry):
        with self.lock:
            self.log.append(entry)

    def asked(self, **wanted):
        with self.lock:
            return [e for e in self.log if all(e[k] == v for k, v in wanted.items())]

    def calm(self):
        """Back to honest answers and an empty log."""
        self.hook = None
        with self.lock:
            self.log.clear()

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()
