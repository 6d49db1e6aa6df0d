"""PDL, the Procedure Description Language of FlowAgent: workflows as documents that a dialogue agent can follow."""

from __future__ import annotations

from flowmind.formats.pdl_document import Pdl, PdlAnswer, PdlApi, PdlSlot, read_pdl, write_pdl
from flowmind.formats.pdl_reader import from_pdl
from flowmind.formats.pdl_writer import preconditions, to_pdl

__all__ = ["Pdl", "PdlAnswer", "PdlApi", "PdlSlot", "from_pdl", "preconditions", "read_pdl", "to_pdl", "write_pdl"]
