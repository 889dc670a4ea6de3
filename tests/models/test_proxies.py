"""Which proxy an address is reached through."""

import pytest

from outrider.models.http.provider import proxy_for

FAR = "http://models.test/v1"
SECURE = "https://models.test/v1"


@pytest.mark.parametrize(
    ("url", "env", "proxy"),
    [
        (FAR, {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        (FAR, {"http_proxy": "http://p:1", "HTTP_PROXY": "http://q:1"}, "http://p:1"),
        (FAR, {"HTTPS_PROXY": "http://p:1"}, None),
        (SECURE, {"HTTPS_PROXY": "http://p:1", "HTTP_PROXY": "http://q:1"}, "http://p:1"),
        (SECURE, {"HTTP_PROXY": "http://p:1"}, None),
        (SECURE, {"all_proxy": "socks5://p:1"}, "socks5://p:1"),
        (SECURE, {"ALL_PROXY": "http://p:1", "https_proxy": "http://q:1"}, "http://q:1"),
        (FAR, {"http_proxy": "p.corp:3128"}, "http://p.corp:3128"),
        (FAR, {"http_proxy": " "}, None),
        ("http://localhost:11434", {"ALL_PROXY": "http://p:1"}, None),
        ("http://127.0.0.1:11434", {"ALL_PROXY": "http://p:1"}, None),
        ("http://[::1]:8000/v1", {"ALL_PROXY": "http://p:1"}, None),
        ("http://[::1", {"ALL_PROXY": "http://p:1"}, None),
    ],
)
def test_it_is_that_of_the_address(url: str, env: dict[str, str], proxy: str | None):
    assert proxy_for(url, env) == proxy


@pytest.mark.parametrize(
    ("no_proxy", "url", "reached"),
    [
        ("models.test", FAR, False),
        ("other.test, Models.test", FAR, False),
        (".test", FAR, False),
        ("test", FAR, False),
        ("*.test", FAR, False),
        ("*", FAR, False),
        ("models.test:80", FAR, False),
        ("models.test:443", FAR, True),
        ("odels.test", FAR, True),
        (",", FAR, True),
        ("10.0.0.0/8", "http://10.1.2.3/v1", False),
        ("10.1.2.3", "http://10.1.2.3/v1", False),
        ("10.0.0.0/8", FAR, True),
        ("192.168.0.0/16", "http://10.1.2.3/v1", True),
        ("10.1.2.3/8", "http://10.9.9.9/v1", False),
        ("[fd00::1]", "http://[fd00::1]/v1", False),
    ],
)
def test_what_no_proxy_names_is_reached_directly(no_proxy: str, url: str, *, reached: bool):
    assert (proxy_for(url, {"ALL_PROXY": "http://p:1", "NO_PROXY": no_proxy}) is not None) is reached
