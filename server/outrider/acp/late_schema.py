"""Imports the SDK without building its 270 types: pydantic builds each one when it is first used.

Building all of them takes half a second of the processor, and a session uses some forty. Their docstrings, for which pydantic reads
and parses the source of each type, take longer than all the rest of the import; nothing here shows them.
"""

import importlib
from typing import Unpack

import pydantic
from pydantic import BaseModel, ConfigDict


def import_sdk() -> None:
    """Import the SDK so. To be called before anything else imports it; does nothing new afterwards."""
    before = BaseModel.model_config
    # Types take over what their base says when they are declared.
    BaseModel.model_config = ConfigDict(defer_build=True)
    pydantic.ConfigDict = _without_docstrings
    try:
        importlib.import_module("acp.schema")
    finally:
        pydantic.ConfigDict = ConfigDict
        BaseModel.model_config = before


def _without_docstrings(**given: Unpack[ConfigDict]) -> ConfigDict:
    config = ConfigDict(**given)
    config["use_attribute_docstrings"] = False
    return config
