"""The models that talk without a server, by name."""

from __future__ import annotations

from flowmind.base.errors import InputError
from flowmind.dialogue.following.follow import FollowModel
from flowmind.dialogue.following.slips import slips_model
from flowmind.protocols import ChatModel


def embedded_model(name: str) -> ChatModel | None:
    """The model `follow`, or `slips:R`; None for a model that needs a server.

    Raises:
        InputError: If the model does not talk.
    """
    if name == "search":
        raise InputError("the model 'search' writes workflows and does not talk; give another model, such as 'follow'")
    if name == "follow":
        return FollowModel()
    return slips_model(name) if name.startswith("slips:") else None
