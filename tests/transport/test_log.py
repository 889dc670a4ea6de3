"""The log on standard error by itself."""

import logging

from outrider.transport.log import StderrHandler, keep_out

KEY = "a-provider-key-of-no-known-shape"


def test_what_the_house_says_is_a_key_is_left_out(monkeypatch, capfd):
    handler = StderrHandler()
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.NullHandler(), handler])
    record = logging.makeLogRecord({"msg": f"it said {KEY}"})
    handler.emit(record)
    handler.flush()
    assert capfd.readouterr().err == f"it said {KEY}\n"
    keep_out(lambda: [KEY])
    handler.emit(record)
    handler.flush()
    assert capfd.readouterr().err == "it said [secret 1]\n"
