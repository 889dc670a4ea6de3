"""The JSON Schema of the wire contract, generated from the models: `python -m outrider_protocol.schema > FILE`."""

import json
import sys
from typing import Any

from pydantic.json_schema import models_json_schema

from outrider_protocol.command_line import PRINTED
from outrider_protocol.commands import COMMANDS
from outrider_protocol.events import EVENTS
from outrider_protocol.export import Export
from outrider_protocol.notifications import Event, Frame, Left
from outrider_protocol.requests import REQUESTS
from outrider_protocol.scenario import Scenario
from outrider_protocol.script import Script
from outrider_protocol.settings import Settings, WorkspaceFile


def build() -> dict[str, Any]:
    """Give the schema: commands (of the wire, and what those of the command line print), events, notifications, requests, settings, a workspace's settings file, script, scenario, export."""
    models = [Settings, WorkspaceFile, Script, Scenario, Export, Event, Frame, Left, *EVENTS]
    models += [model for both in REQUESTS.values() for model in both]
    for command in COMMANDS.values():
        models += [command.params, command.result]
    models += PRINTED.values()
    unique = list(dict.fromkeys(models))
    refs, top = models_json_schema(
        [(model, "validation") for model in unique], ref_template="#/$defs/{model}"
    )
    ref = {model: refs[(model, "validation")] for model in unique}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Outrider wire contract",
        "settings": ref[Settings],
        "workspaceFile": ref[WorkspaceFile],
        "script": ref[Script],
        "scenario": ref[Scenario],
        "export": ref[Export],
        "commands": {
            name: {"description": row.summary, "params": ref[row.params], "result": ref[row.result]}
            for name, row in COMMANDS.items()
        },
        "commandLine": {f"outrider {name} --json": ref[model] for name, model in PRINTED.items()},
        "notifications": {
            "outrider/event": ref[Event],
            "outrider/stream": ref[Frame],
            "outrider/left": ref[Left],
        },
        "requests": {
            name: {"params": ref[params], "result": ref[result]}
            for name, (params, result) in REQUESTS.items()
        },
        "events": {event.TYPE: ref[event] for event in EVENTS},
        "$defs": top["$defs"],
    }


def render() -> str:
    """Give the schema as the text of `protocol/schema.json`."""
    return json.dumps(build(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render())
