"""One process of an application with DBOS on SQLite: it runs the payments, and is killed at a point."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from dbos import DBOS
from journal_process import INPUTS, PAYMENTS, Payments

from flowmind import CaseFailed, Doubt, FlowMindError, Happened, Workflow, tool
from flowmind.server.durable import DurableWorkflow


def main(folder: Path, point: str, part: int, mark: str) -> None:
    config: Any = {
        "name": "payments-test",
        "system_database_url": f"sqlite:///{folder / 'dbos.sqlite'}",
        "log_level": "CRITICAL",
        "application_version": "1",
    }
    DBOS(config=config)
    price, pay = Payments(folder / "effects", point, part).tools()

    def verify(order: str, part: int, cents: int) -> Any:
        done = (folder / "effects").read_text().splitlines()
        return Happened(f"paid {part}") if any(line.startswith(f"{order} {part} ") for line in done) else None

    if mark == "verify":
        pay = tool(effect="write", verify=verify)(pay)
    payments = DurableWorkflow(PAYMENTS, [price, pay])
    other = DurableWorkflow(Workflow.model_validate({**PAYMENTS.dump(), "name": "other"}), [price, pay])
    DBOS.launch()

    async def outcome(workflow: DurableWorkflow, inputs: dict[str, Any], run: Any) -> Any:
        try:
            return {"answer": await workflow.acall(inputs, run=run)}
        except (CaseFailed, Doubt, FlowMindError) as error:
            return {"error": type(error).__name__, "message": str(error)}

    async def every() -> list[Any]:
        first = await asyncio.gather(*(outcome(payments, INPUTS, "r") for _ in range(5)))
        return [
            *first,
            await outcome(payments, {**INPUTS, "order": "o-2"}, "r"),
            await outcome(other, INPUTS, "r"),
            await outcome(payments, {"order": "o-1"}, "lacks"),
            await outcome(payments, INPUTS, 7),
        ]

    print(json.dumps(asyncio.run(every())))
    DBOS.destroy()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
