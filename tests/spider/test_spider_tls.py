"""The TLS zoo: every broken certificate and handshake has its class, and none is let pass."""

import datetime as dt
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from rawserver import Connection, RawServer, page

from conftest import QUICK, MakeSpider, fetch_all, fetch_one, visit
from gossamer.outcomes import Outcome
from held_ports import HeldPort

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def context_for(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def self_signed(folder: Path, name: str = "good.example", names: int = 1) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    san = [x509.DNSName(name if number == 0 else f"n{number}.example") for number in range(names)]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW - DAY)
        .not_valid_after(NOW + DAY)
        .add_extension(x509.SubjectAlternativeName(san), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "self.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def fetch_from(context: ssl.SSLContext, make_spider: MakeSpider, host: str, **settings: object):
    with RawServer({"": page(b"secret")}, context) as server:
        fetch = fetch_one(make_spider(**QUICK | settings), f"https://{host}:{server.port}/")
        if fetch.outcome is not Outcome.OK:
            assert server.requests == [], "nothing is asked of a server that is not trusted"
        return fetch


def test_a_good_certificate(authority: trustme.CA, ca_file: str, make_spider: MakeSpider) -> None:
    context = context_for(authority.issue_cert("good.example"))
    fetch = fetch_from(context, make_spider, "good.example", ca_file=ca_file)
    assert (fetch.outcome, fetch.body, fetch.flags) == (Outcome.OK, b"secret", ())


ZOO = {
    "expired": ({"not_after": NOW - DAY}, ("good.example",), Outcome.TLS_EXPIRED),
    "not yet valid": ({"not_before": NOW + DAY}, ("good.example",), Outcome.TLS_EXPIRED),
    "wrong host": ({}, ("bad.example",), Outcome.TLS_NAME),
    "wildcard too deep": ({}, ("*.deep.example",), Outcome.TLS_NAME),
    "wildcard of the top": ({}, ("*.example",), Outcome.TLS_NAME),
    "ten thousand names": ({}, tuple(f"n{n}.example" for n in range(10_000)), None),
}


@pytest.mark.parametrize("name", ZOO)
def test_a_certificate_of_the_zoo(
    name: str, authority: trustme.CA, ca_file: str, make_spider: MakeSpider
) -> None:
    validity, names, expected = ZOO[name]
    host = "a.b.deep.example" if "deep" in name else "good.example"
    if "top" in name:
        host = "x.good.example"
    context = context_for(authority.issue_cert(*names, **validity))
    fetch = fetch_from(
        context,
        make_spider,
        host,
        ca_file=ca_file,
        timeout_connect_ms=5_000,
        timeout_request_ms=9_000,
    )
    if expected is None:
        assert fetch.outcome in (Outcome.TLS_NAME, Outcome.TLS_HANDSHAKE, Outcome.TLS_UNTRUSTED)
    else:
        assert fetch.outcome is expected, fetch.detail


def test_a_self_signed_certificate(tmp_path: Path, make_spider: MakeSpider) -> None:
    fetch = fetch_from(self_signed(tmp_path), make_spider, "good.example")
    assert fetch.outcome is Outcome.TLS_UNTRUSTED


def test_an_unknown_authority(authority: trustme.CA, make_spider: MakeSpider) -> None:
    context = context_for(authority.issue_cert("good.example"))
    assert fetch_from(context, make_spider, "good.example").outcome is Outcome.TLS_UNTRUSTED


def test_a_missing_intermediate(
    authority: trustme.CA, ca_file: str, make_spider: MakeSpider, tmp_path: Path
) -> None:
    leaf = authority.create_child_ca().issue_cert("good.example")
    path = tmp_path / "leaf.pem"
    path.write_bytes(leaf.private_key_pem.bytes() + leaf.cert_chain_pems[0].bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    fetch = fetch_from(context, make_spider, "good.example", ca_file=ca_file)
    assert fetch.outcome is Outcome.TLS_UNTRUSTED


def test_a_certificate_that_depends_on_the_name_asked_for(
    authority: trustme.CA, ca_file: str, make_spider: MakeSpider
) -> None:
    """SNI carries the host of the URL, though the connection goes to a bare address."""
    good = context_for(authority.issue_cert("good.example"))
    asked: list[str | None] = []

    def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        asked.append(name)
        if name == "good.example":
            connection.context = good

    default = context_for(authority.issue_cert("default.example"))
    default.sni_callback = choose
    assert fetch_from(default, make_spider, "good.example", ca_file=ca_file).outcome is Outcome.OK
    assert (
        fetch_from(default, make_spider, "other.example", ca_file=ca_file).outcome
        is Outcome.TLS_NAME
    )
    assert asked == ["good.example", "other.example"]


def test_old_versions_are_refused(
    authority: trustme.CA, ca_file: str, make_spider: MakeSpider
) -> None:
    context = context_for(authority.issue_cert("good.example"))
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.maximum_version = ssl.TLSVersion.TLSv1
    fetch = fetch_from(context, make_spider, "good.example", ca_file=ca_file)
    assert fetch.outcome is Outcome.TLS_HANDSHAKE


def test_a_certificate_of_ours_is_demanded(
    authority: trustme.CA, ca_file: str, make_spider: MakeSpider
) -> None:
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = context_for(authority.issue_cert("good.example"))
        context.verify_mode = ssl.CERT_REQUIRED
        context.minimum_version = context.maximum_version = version
        fetch = fetch_from(context, make_spider, "good.example", ca_file=ca_file)
        # In TLS 1.3 the refusal comes after the handshake, and a reset may overtake it.
        late = {Outcome.NET_RESET} if version is ssl.TLSVersion.TLSv1_3 else set()
        assert fetch.outcome in {Outcome.TLS_HANDSHAKE} | late, (version, fetch.detail)


def test_verification_can_be_set_aside_and_it_shows(
    tmp_path: Path, make_spider: MakeSpider
) -> None:
    fetch = fetch_from(self_signed(tmp_path), make_spider, "other.example", verify_tls=False)
    assert (fetch.outcome, fetch.flags) == (Outcome.OK, ("tls_unverified",))


def _hang_after_hello(peer: socket.socket) -> None:
    peer.recv(10_000)
    time.sleep(1.0)
    raise OSError


def _alert(peer: socket.socket) -> None:
    peer.recv(10_000)
    peer.sendall(b"\x15\x03\x03\x00\x02\x02\x28")
    raise OSError


def _close(peer: socket.socket) -> None:
    peer.recv(10_000)
    raise OSError


def _speak_http(peer: socket.socket) -> None:
    peer.recv(10_000)
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    raise OSError


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (_hang_after_hello, Outcome.TLS_HANDSHAKE),
        (_alert, Outcome.TLS_HANDSHAKE),
        (_close, Outcome.TLS_HANDSHAKE),
        (_speak_http, Outcome.TLS_NOT_TLS),
    ],
)
def test_a_handshake_that_fails(before, expected: Outcome, make_spider: MakeSpider) -> None:
    with RawServer({}, before=before) as server:
        fetch = fetch_one(make_spider(**QUICK), f"https://good.example:{server.port}/")
    assert fetch.outcome is expected, fetch.detail
    assert fetch.sent_at == 0.0


def test_http_on_the_tls_port(make_spider: MakeSpider) -> None:
    """H86: a plain server takes the handshake for a bad request and hangs or complains."""
    with RawServer({}) as server:
        fetch = fetch_one(make_spider(**QUICK), f"https://good.example:{server.port}/")
    assert fetch.outcome is Outcome.TLS_HANDSHAKE


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Outcome.OK),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", Outcome.BODY_SHORT),
    ],
)
def test_an_end_without_close_notify(
    answer: bytes,
    expected: Outcome,
    authority: trustme.CA,
    ca_file: str,
    make_spider: MakeSpider,
) -> None:
    """Only a body whose length nobody told may have been cut by it."""

    def behave(connection: Connection) -> bool:
        connection.send(answer)
        connection.peer.shutdown(socket.SHUT_RDWR)
        return False

    context = context_for(authority.issue_cert("good.example"))
    with RawServer({"": behave}, context) as server:
        fetch = fetch_one(
            make_spider(**QUICK, ca_file=ca_file), f"https://good.example:{server.port}/"
        )
    assert (fetch.outcome, fetch.body) == (expected, b"hello"), fetch.detail


def test_a_handle_that_was_held_back_is_free_again(
    authority: trustme.CA, ca_file: str, make_spider: MakeSpider
) -> None:
    """What a plain response that never came leaves behind must not hold back the next visit."""

    def hang(connection: Connection) -> bool:
        connection.hang()
        return False

    spider = make_spider(**QUICK, ca_file=ca_file)
    context = context_for(authority.issue_cert("good.example"))
    with (
        RawServer({"": hang, "x": page(b"plain")}) as plain,
        RawServer({"": page(b"secret")}, context) as secure,
    ):
        for _ in range(2):
            silent = fetch_one(spider, f"http://good.example:{plain.port}/")
            assert silent.outcome is Outcome.NET_TIMEOUT_HEADERS
            spoken = fetch_one(spider, f"https://good.example:{secure.port}/")
            assert spoken.body == b"secret"
            assert fetch_one(spider, f"http://good.example:{plain.port}/x").body == b"plain"


@pytest.fixture
def nginx(authority: trustme.CA, tmp_path: Path) -> Iterator[int]:
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        pytest.skip("nginx is not installed")
    certificate = authority.issue_cert("good.example")
    certificate.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "cert.pem"))
    held = HeldPort()
    port = held.port
    (tmp_path / "page.html").write_bytes(b"<p>over two</p>")
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log /dev/null; master_process off;\n"
        "events {} http { access_log off; default_type text/html;\n"
        f"client_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p;\n"
        f"fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u;\n"
        f"scgi_temp_path {tmp_path}/s;\n"
        f"server {{ listen 127.0.0.1:{port} ssl http2; root {tmp_path};\n"
        f"ssl_certificate {tmp_path}/cert.pem; ssl_certificate_key {tmp_path}/cert.pem; }} }}\n"
    )
    server = subprocess.Popen(
        [program, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")],
        stderr=subprocess.DEVNULL,
    )
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield port
    server.terminate()
    server.wait()
    held.close()


def test_http_2(nginx: int, ca_file: str, make_spider: MakeSpider) -> None:
    spider = make_spider(ca_file=ca_file)
    fetches = fetch_all(
        spider,
        [visit(number, f"https://good.example:{nginx}/page.html?{number}") for number in range(50)],
    )
    for fetch in fetches.values():
        assert (fetch.outcome, fetch.http_version) == (Outcome.OK, "2")
        assert fetch.body == b"<p>over two</p>"
        assert fetch.head.startswith(b"HTTP/2 200")
    plain = fetch_one(make_spider(ca_file=ca_file, http2=False), f"https://good.example:{nginx}/x")
    assert (plain.outcome, plain.http_version) == (Outcome.HTTP_4XX, "1.1")
