"""What the settings come to be, whoever wrote them, and what is said about it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.ports.toml import read_user_file
from outrider.settings import Layered, from_layers, narrowed
from outrider_protocol.choices import PERMISSION_MODES
from outrider_protocol.settings import Limits, SandboxSettings, Settings

TOOL = {"name": "t", "description": "t", "inputSchema": {"type": "object"}, "effect": "read"}
PROVIDER = {"kind": "openai-chat", "baseUrl": "https://models.example/v1", "apiKeyEnv": "MY_KEY"}


def one(**values: Any) -> Layered:
    return from_layers(("initializationOptions", values))


# --- layers and their authority ------------------------------------------------------------------------------


def test_nothing_set_gives_the_defaults() -> None:
    assert from_layers() == Layered(Settings())
    assert from_layers(("file", {}), ("initializationOptions", None)) == Layered(Settings())


def test_a_later_layer_overrides_key_by_key() -> None:
    layered = from_layers(
        ("file", {"model": "my/small", "permissionMode": "auto-edit", "events": True}),
        ("initializationOptions", {"permissionMode": "ask"}),
        ("command line", {"model": "my/large"}),
    )
    settings = layered.settings
    assert (settings.model, settings.permission_mode, settings.events) == ("my/large", "ask", True)
    assert layered.messages == ()


def test_limits_are_merged_one_by_one() -> None:
    layered = from_layers(
        ("file", {"limits": {"steps": 5, "seconds": 60}}), ("command line", {"limits": {"steps": 7}})
    )
    assert layered.settings.limits == Limits(steps=7, seconds=60)


def test_providers_are_merged_by_name_and_each_as_a_whole() -> None:
    other = {"kind": "openai-chat", "baseUrl": "https://other.example/v1"}
    layered = from_layers(
        ("file", {"providers": {"my": PROVIDER, "local": PROVIDER}}),
        ("initializationOptions", {"providers": {"my": other, "third": other}}),
    )
    providers = layered.settings.providers
    assert set(providers) == {"my", "local", "third"}
    assert providers["local"].api_key_env == "MY_KEY"
    assert providers["my"].base_url == "https://other.example/v1"
    assert providers["my"].api_key_env is None, "the file's key must not go to the client's address"


def test_models_and_tiers_are_merged_one_by_one() -> None:
    layered = from_layers(
        ("file", {"models": {"my/a": {"vision": True}}, "tiers": {"mid": ["my/a"], "small": ["my/s"]}}),
        (
            "initializationOptions",
            {"models": {"my/b": {"toolFormat": "hermes"}}, "tiers": {"mid": [["my/b", "my/a"]]}},
        ),
    )
    settings = layered.settings
    assert (settings.models["my/a"].vision, settings.models["my/b"].tool_format) == (True, "hermes")
    assert (settings.tiers.mid.models, settings.tiers.small.models) == ([["my/b", "my/a"]], ["my/s"])
    assert layered.messages == ()


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"models": {"my/a": {"toolFormat": "xml"}}}, "models.my/a.toolFormat"),
        ({"models": {"my/a": {"price": {"input": -1, "output": 1}}}}, "models.my/a.price.input"),
        ({"models": {"my/a": {"price": {"input": 1}}}}, "models.my/a.price.output"),
        ({"models": {"my/a": {"contextWindow": "8k"}}}, "models.my/a.contextWindow"),
        ({"models": {"my/a": {"windw": 1}}}, "models.my/a.windw"),
        ({"tiers": {"large": ["my/a"]}}, "tiers.large"),
        ({"tiers": {"mid": "my/a"}}, "tiers.mid"),
        ({"tiers": {"mid": ["a"]}}, "tiers.mid.models.0"),
        ({"tiers": {"mid": {"models": ["p/a"], "thinking": "much"}}}, "tiers.mid.thinking"),
        ({"thinking": "much"}, "thinking"),
        ({"thinking": 0}, "thinking"),
        ({"retry": {"attempts": 0}}, "retry.attempts"),
        ({"routing": {"by": "words"}}, "routing.by"),
    ],
)
def test_what_is_wrong_about_models_is_said_with_its_place(values: dict[str, Any], place: str) -> None:
    layered = one(**values)
    assert layered.settings == Settings()
    (message,) = layered.messages
    assert message.startswith(f"initializationOptions: {place}")


def test_null_changes_nothing() -> None:
    layered = from_layers(
        ("file", {"model": "my/m", "limits": {"steps": 5}, "providers": {"my": PROVIDER}}),
        (
            "initializationOptions",
            {
                "model": None,
                "limits": {"steps": None},
                "providers": {"my": None},
                "testing": None,
                "permissionMode": None,
            },
        ),
        ("command line", {"limits": None, "providers": {"other": {**PROVIDER, "apiKeyEnv": None}}}),
    )
    assert layered.messages == ()
    assert layered.settings.model == "my/m"
    assert layered.settings.limits.steps == 5
    assert layered.settings.providers["my"].api_key_env == "MY_KEY"
    assert layered.settings.providers["other"].api_key_env is None


@pytest.mark.parametrize("mode", PERMISSION_MODES)
def test_a_workspace_nobody_vouches_for_is_read_only(mode: str) -> None:
    assert one(trusted=False, permissionMode=mode).settings.permission_mode == "read-only"
    assert one(trusted=True, permissionMode=mode).settings.permission_mode == mode
    assert one(permissionMode=mode).settings.permission_mode == mode


# --- wrong values --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "place", "instead"),
    [
        ({"permissionMode": "yolo"}, "permissionMode", "'ask' is used"),
        ({"permissionMode": ["full"]}, "permissionMode", "'ask' is used"),
        ({"limits": {"steps": 0}}, "limits.steps", "100 is used"),
        ({"limits": {"steps": "7"}}, "limits.steps", "100 is used"),
        ({"limits": {"steps": True}}, "limits.steps", "100 is used"),
        ({"limits": {"seconds": float("inf")}}, "limits.seconds", "3600.0 is used"),
        ({"limits": {"tokens": -1}}, "limits.tokens", "it is ignored"),
        ({"limits": {"stepps": 3}}, "limits.stepps: unknown setting", "it is ignored"),
        ({"limits": {"ask_seconds": 3}}, "limits.ask_seconds: unknown setting", "it is ignored"),
        ({"limits": 3}, "limits", "the default is used"),
        ({"events": "yes"}, "events", "False is used"),
        ({"trusted": 1}, "trusted", "it is ignored"),
        ({"model": 3}, "model", "it is ignored"),
        ({"providers": {"my": {"kind": "openai-chat"}}}, "providers.my.baseUrl", "this provider is ignored"),
        (
            {"providers": {"my": {**PROVIDER, "apiKeyEnv": "sk-1 2"}}},
            "providers.my.apiKeyEnv",
            "this provider is ignored",
        ),
        (
            {"providers": {"my": {**PROVIDER, "kind": "telepathy"}}},
            "providers.my.kind",
            "this provider is ignored",
        ),
        ({"providers": []}, "providers", "the default is used"),
        ({"testing": {"ids": "random"}}, "testing.ids", "it is ignored"),
        ({"testing": {"clock": {"start": "yesterday"}}}, "testing.clock.start", "it is ignored"),
        ({"colour": "red"}, "colour: unknown setting", "it is ignored"),
        ({"permission_mode": "full"}, "permission_mode: unknown setting", "it is ignored"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_used_instead(
    values: dict[str, Any], place: str, instead: str
) -> None:
    layered = one(**values)
    assert layered.settings == Settings()
    (message,) = layered.messages
    assert message.startswith(f"initializationOptions: {place}")
    assert message.endswith(instead)


def test_a_wrong_value_leaves_that_of_the_layer_below() -> None:
    layered = from_layers(
        ("file", {"permissionMode": "auto-edit", "limits": {"steps": 5}}),
        ("command line", {"permissionMode": "yolo", "limits": {"steps": -1}}),
    )
    assert layered.settings.permission_mode == "auto-edit"
    assert layered.settings.limits.steps == 5
    assert [message.rpartition("; ")[2] for message in layered.messages] == [
        "'auto-edit' stays in use",
        "5 stays in use",
    ]


def test_a_wrong_value_takes_no_good_one_with_it() -> None:
    layered = one(
        limits={"steps": 0, "seconds": 9, "askSeconds": "soon"},
        providers={"good": PROVIDER, "bad": {}},
        events=True,
    )
    assert layered.settings.limits == Limits(seconds=9)
    assert set(layered.settings.providers) == {"good"}
    assert layered.settings.events
    assert len(layered.messages) == 3


def test_no_message_shows_what_a_provider_holds() -> None:
    secret = {**PROVIDER, "headers": {"Authorization": "Bearer hush"}}
    layered = from_layers(
        ("file", {"providers": {"my": secret}}),
        ("initializationOptions", {"providers": {"my": {**secret, "kind": "telepathy"}}}),
        ("command line", {"providers": {"my": {**secret, "baseUrl": "hush"}}}),
        ("command line", {"providers": "hush"}),
    )
    assert len(layered.messages) == 3
    assert "hush" not in " ".join(layered.messages)


@pytest.mark.parametrize("layer", [[], "model", 3, True, [{"model": "x"}]])
def test_a_layer_that_is_no_object_is_ignored_and_named(layer: Any) -> None:
    layered = from_layers(("initializationOptions", layer))
    assert layered.settings == Settings()
    assert layered.messages[0].startswith("initializationOptions: must be an object")


# --- the user's file -----------------------------------------------------------------------------------------


def test_the_user_file_is_toml(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(
        'model = "my/m"\n[providers.my]\nkind = "openai-chat"\nbaseUrl = "https://models.example/v1"\n'
        "[testing.clock]\nstart = 2026-01-01T00:00:00Z\n",
        encoding="utf-8",
    )
    values, problem = read_user_file(path)
    assert problem is None
    layered = from_layers((str(path), values))
    assert layered.messages == ()
    assert layered.settings.providers["my"].base_url == "https://models.example/v1"
    assert layered.settings.testing is not None


def test_a_missing_file_is_no_problem(tmp_path: Path) -> None:
    assert read_user_file(tmp_path / "settings.toml") == ({}, None)
    assert read_user_file(tmp_path / "no" / "folder" / "settings.toml") == ({}, None)


@pytest.mark.parametrize(
    ("content", "why"),
    [(b'model = "my/m', "TOML"), (b"model = 1\nmodel = 2", "TOML"), (b"\xff\xfe", ""), (b"\0", "TOML")],
)
def test_a_damaged_file_is_ignored_and_named(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(content)
    values, problem = read_user_file(path)
    assert values == {}
    assert problem is not None
    assert str(path) in problem
    assert why in problem
    assert problem.endswith("it is ignored")


def test_a_file_that_cannot_be_read_is_ignored_and_named(tmp_path: Path) -> None:
    values, problem = read_user_file(tmp_path)
    assert values == {}
    assert problem is not None
    assert str(tmp_path) in problem


# --- what the repository may say -----------------------------------------------------------------------------

BASE = Settings.from_wire(
    {
        "model": "my/small",
        "providers": {"my": PROVIDER},
        "permissionMode": "ask",
        "limits": {"steps": 50, "cost": 2.0},
        "stateDir": "/state",
    }
)


def test_a_workspace_may_narrow() -> None:
    said = {
        "permissionMode": "read-only",
        "limits": {"steps": 5, "tokens": 1000, "cost": 1},
        "model": "my/large",
        "events": True,
    }
    layered = narrowed(BASE, said)
    assert layered.messages == ()
    settings = layered.settings
    assert settings.permission_mode == "read-only"
    assert (settings.limits.steps, settings.limits.tokens, settings.limits.cost) == (5, 1000, 1.0)
    assert settings.model == "my/large"
    assert settings.events


def test_a_workspace_may_say_that_it_is_not_trusted() -> None:
    layered = narrowed(
        BASE.model_copy(update={"trusted": True, "permission_mode": "full"}), {"trusted": False}
    )
    assert layered.settings.trusted is False
    assert layered.settings.permission_mode == "read-only"


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"permissionMode": "full"}, "permissionMode: 'full' would allow more; 'ask' stays in use"),
        ({"permissionMode": "auto-edit"}, "permissionMode: 'auto-edit' would allow more; 'ask' stays in use"),
        ({"permissionMode": "yolo"}, "permissionMode: 'yolo' must be one of"),
        ({"permissionMode": {}}, "permissionMode: {} must be one of"),
        ({"limits": {"steps": 51}}, "limits.steps: 51 would allow more; 50 stays in use"),
        ({"limits": {"askSeconds": 121}}, "limits.askSeconds: 121 would allow more; 120.0 stays in use"),
        ({"limits": {"ask_seconds": 1}}, "limits.ask_seconds: unknown setting"),
        ({"limits": {"steps": "5"}}, "limits.steps: input should be a valid integer; 50 stays in use"),
        ({"limits": {"seconds": float("nan")}}, "limits.seconds: "),
        ({"limits": {"steps": -1}}, "limits.steps: "),
        ({"limits": "none"}, "limits: must be an object"),
        ({"trusted": True}, "trusted: a workspace cannot declare itself trusted"),
        ({"trusted": "yes"}, "trusted: 'yes' is of the wrong type"),
        ({"model": "other/m"}, "model: 'other/m' has no configured provider; 'my/small' stays in use"),
        ({"model": "my/"}, "model: 'my/' has no configured provider"),
        ({"model": "scripted:evil.json"}, "model: 'scripted:evil.json' has no configured provider"),
        ({"model": 3}, "model: 3 is of the wrong type"),
        ({"providers": {"my": {**PROVIDER, "baseUrl": "https://evil.example"}}}, "providers: cannot be set"),
        ({"providers": {"other": PROVIDER}}, "providers: cannot be set"),
        ({"stateDir": "/elsewhere"}, "stateDir: cannot be set"),
        ({"testing": {"ids": "sequential"}}, "testing: cannot be set"),
        ({"hooks": {"start": "rm -rf"}}, "hooks: cannot be set"),
        ({"events": 1}, "events: 1 is of the wrong type"),
    ],
)
def test_a_workspace_cannot_widen_and_it_is_said(values: dict[str, Any], place: str) -> None:
    layered = narrowed(BASE, values)
    assert layered.settings == BASE
    (message,) = layered.messages
    assert message.startswith(f"workspace settings: {place}")


def test_one_limit_that_would_widen_takes_no_narrower_one_with_it() -> None:
    layered = narrowed(BASE, {"limits": {"steps": 1000, "seconds": 10}})
    assert (layered.settings.limits.steps, layered.settings.limits.seconds) == (50, 10.0)
    assert len(layered.messages) == 1


def test_what_holds_anyway_is_not_complained_about() -> None:
    assert narrowed(BASE, BASE.to_wire()).messages == ()


@pytest.mark.parametrize(
    "values", [None, {}, {"model": None, "limits": None, "providers": None, "trusted": None}]
)
def test_null_from_the_workspace_changes_nothing(values: Any) -> None:
    assert narrowed(BASE, values) == Layered(BASE)


@pytest.mark.parametrize("values", [[], [None], "full", 3, True])
def test_a_workspace_configuration_that_is_no_object_is_ignored_and_said(values: Any) -> None:
    layered = narrowed(BASE, values)
    assert layered.settings == BASE
    assert len(layered.messages) == 1


def test_a_narrowing_is_undone_when_the_workspace_takes_it_back() -> None:
    assert narrowed(BASE, {"permissionMode": "read-only"}).settings.permission_mode == "read-only"
    assert narrowed(BASE, {}).settings.permission_mode == "ask"


def test_a_message_shows_only_the_beginning_of_a_value() -> None:
    values = {"model": "x" * 10_000, "k" * 10_000: 1, "trusted": "y" * 10_000}
    assert all(len(message) < 300 for message in narrowed(BASE, values).messages)
    assert all(len(message) < 300 for message in from_layers(("file", values)).messages)


# --- whatever they hold --------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
limit_names = st.sampled_from([*Limits().to_wire(), "tokens", "cost", "ask_seconds", "nothing"])
likely_values = st.fixed_dictionaries(
    {},
    optional={
        "permissionMode": st.sampled_from(PERMISSION_MODES) | json_values,
        "permission_mode": st.just("full"),
        "limits": st.dictionaries(limit_names, json_values | st.integers(1, 10**6)) | json_values,
        "trusted": st.booleans() | json_values,
        "model": st.sampled_from(["my/large", "other/m", "scripted:x.json", " scripted:x", "my/"])
        | json_values,
        "providers": st.dictionaries(st.sampled_from(["my", "other"]), st.just(PROVIDER) | json_values),
        "stateDir": json_values,
        "testing": st.just({"ids": "sequential"}) | json_values,
        "events": json_values,
        "tools": st.lists(st.just(TOOL) | json_values, max_size=3) | json_values,
    },
)
anything = json_values | likely_values
bases = st.builds(
    lambda mode, trusted, steps, tokens: (
        from_layers(
            (
                "base",
                {
                    **BASE.to_wire(),
                    "permissionMode": mode,
                    "trusted": trusted,
                    "limits": {"steps": steps, "tokens": tokens},
                },
            )
        ).settings
    ),
    st.sampled_from(PERMISSION_MODES),
    st.none() | st.booleans(),
    st.integers(1, 10**6),
    st.none() | st.integers(1, 10**6),
)


def is_wider(settings: Settings, base: Settings) -> bool:
    limits, allowed = settings.limits.to_wire(), base.limits.to_wire()
    return (
        PERMISSION_MODES.index(settings.permission_mode) > PERMISSION_MODES.index(base.permission_mode)
        or any(name not in limits or not limits[name] <= most for name, most in allowed.items())
        or (settings.trusted is not base.trusted and settings.trusted is not False)
        or (settings.model != base.model and (settings.model or "").partition("/")[0] not in base.providers)
        or (settings.providers, settings.state_dir, settings.testing, settings.tools)
        != (base.providers, base.state_dir, base.testing, base.tools)
    )


@given(base=bases, values=anything)
def test_no_workspace_configuration_widens_or_raises(base: Settings, values: Any) -> None:
    layered = narrowed(base, values)
    assert not is_wider(layered.settings, base)
    assert Settings.from_wire(layered.settings.to_wire()) == layered.settings


@given(layers=st.lists(anything, max_size=3))
def test_no_layer_makes_the_settings_invalid_or_raises(layers: list[Any]) -> None:
    layered = from_layers(*((f"layer {number}", layer) for number, layer in enumerate(layers)))
    assert Settings.from_wire(layered.settings.to_wire()) == layered.settings
    assert all(message.startswith("layer ") for message in layered.messages)


def test_how_long_texts_are_kept_is_the_users_and_not_the_repositorys() -> None:
    layered = from_layers(
        ("user.toml", {"store": {"keepDays": 7}}), ("options", {"store": {"maxBytes": 1000}})
    )
    assert (layered.settings.store.keep_days, layered.settings.store.max_bytes) == (7, 1000)
    wrong = from_layers(("user.toml", {"store": {"keepDays": -1, "maxBytes": 5}}))
    assert (wrong.settings.store.keep_days, wrong.settings.store.max_bytes) == (90, 5)
    assert "store.keepDays" in wrong.messages[0]
    refused = narrowed(layered.settings, {"store": {"keepDays": 0}})
    assert refused.settings.store == layered.settings.store
    assert refused.messages == ("workspace settings: store: cannot be set by the workspace; it is ignored",)


# --- the sandbox ---------------------------------------------------------------------------------------------


def test_a_text_is_the_mode_of_the_sandbox() -> None:
    layered = from_layers(
        ("file", {"sandbox": {"network": True, "readable": ["~/notes"]}}),
        ("initializationOptions", {"sandbox": "required"}),
    )
    assert layered.messages == ()
    assert layered.settings.sandbox == SandboxSettings(mode="required", network=True, readable=["~/notes"])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"mode": "none"}, "sandbox.mode"),
        ("none", "sandbox.mode"),
        ({"readable": ["notes"]}, "sandbox.readable.0"),
        ({"writable": ["~"]}, "sandbox.writable.0"),
        ({"network": ["*"]}, "sandbox.network"),
        ({"network": ["https://pypi.example"]}, "sandbox.network"),
        ({"network": ["10.0.0.0/8"]}, "sandbox.network"),
        ({"network": "pypi.example"}, "sandbox.network"),
        ({"hosts": []}, "sandbox.hosts"),
        (3, "sandbox"),
    ],
)
def test_a_wrong_value_of_the_sandbox_is_left_out(value: Any, said: str) -> None:
    layered = one(sandbox=value)
    assert layered.settings.sandbox == SandboxSettings()
    assert layered.messages[0].startswith(f"initializationOptions: {said}:")


@pytest.mark.parametrize(
    ("said", "comes_to"),
    [
        ("required", {"mode": "required"}),
        ("off", {}),
        ({"mode": "off", "network": False}, {"network": False}),
        ({"network": False, "readable": []}, {"network": False, "readable": []}),
        ({"readable": ["/a", "/etc"]}, {}),
        ({"writable": ["/"]}, {}),
        (["off"], {}),
        ({"mode": 3}, {}),
        ({"network": ["pypi.example"]}, {"network": ["pypi.example"]}),
    ],
)
def test_a_workspace_can_only_narrow_the_sandbox(said: Any, comes_to: dict[str, Any]) -> None:
    base = Settings(sandbox=SandboxSettings(network=True, readable=["/a"]))
    layered = narrowed(base, {"sandbox": said})
    assert layered.settings.sandbox == base.sandbox.model_copy(update=comes_to)
    wanted = len(said) if isinstance(said, dict) else 1
    assert bool(layered.messages) is (len(comes_to) < wanted)


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        (False, ["pypi.example"], False),
        (False, [], []),
        (["pypi.example", "files.example"], True, None),
        (["pypi.example", "files.example"], ["files.example"], ["files.example"]),
        (["pypi.example"], ["evil.example"], None),
        (["*.example"], ["pypi.example", "*.example"], None),
        (["pypi.example"], False, False),
    ],
)
def test_a_workspace_opens_no_host(before: Any, said: Any, after: Any) -> None:
    base = Settings(sandbox=SandboxSettings(network=before))
    layered = narrowed(base, {"sandbox": {"network": said}})
    assert layered.settings.sandbox.network == (before if after is None else after)
    assert bool(layered.messages) is (layered.settings.sandbox.network != said)
