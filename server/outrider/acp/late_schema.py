"""Imports the SDK without building its 350 types: pydantic builds each one when it is first used.

Building all of them takes half a second of the processor, and a session uses some forty.
"""

import importlib

from pydantic import BaseModel, ConfigDict


def import_sdk() -> None:
    """Import the SDK so. To be called before anything else imports it; does nothing new afterwards."""
    before = BaseModel.model_config
    # Types take over what their base says when they are declared.
    BaseModel.model_config = ConfigDict(defer_build=True)
    try:
        importlib.import_module("acp.schema")
    finally:
        BaseModel.model_config = before
