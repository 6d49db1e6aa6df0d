"""The tools of a registrar of names: DNS records, probes of names, certificates."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_records(db: dict[str, Any], zone: str, after: str | None = None) -> dict[str, Any]:
    """List the DNS records of a zone, four at a time.

    Args:
        zone: The zone, such as example.org.
        after: The mark `next` of the part before; null for the first part.

    Returns:
        `records`, each with `record_id`, `host` (the part before the zone), `kind` (`A`, `CNAME`, `TXT` or `MX`),
        `points_to`, `ttl` in seconds, `locked`; and `next`, null in the last part.
    """
    rows = [row for row in db["records"].values() if row["zone"] == zone]
    rest = [row for row in rows if after is None or row["record_id"] > after]
    part = rest[:4]
    shown = [{key: row[key] for key in ("record_id", "host", "kind", "points_to", "ttl", "locked")} for row in part]
    following = part[-1]["record_id"] if len(rest) > 4 else None
    return {"db": db, "result": {"records": shown, "next": following}}


@tool(effect="read")
def probe_name(db: dict[str, Any], name: str) -> dict[str, Any]:
    """Ask the public resolvers for a name.

    Args:
        name: The full name.

    Returns:
        `name`, `status` (`ok`, `nxdomain` if there is no such name, or `servfail`), `resolver`.
    """
    status = db["names"].get(name, "nxdomain")
    return {"db": db, "result": {"name": name, "resolver": "public-1", "status": status}}


@tool(effect="write")
def delete_record(db: dict[str, Any], record_id: str) -> dict[str, Any]:
    """Delete a DNS record.

    Args:
        record_id: Id of the record.

    Returns:
        `record_id`, `serial`: the new serial number of the zones.
    """
    del db["records"][record_id]
    db["serial"] += 1
    return {"db": db, "result": {"record_id": record_id, "serial": db["serial"]}}


@tool(effect="read")
def get_certificate(db: dict[str, Any], certificate_id: str) -> dict[str, Any]:
    """Get a TLS certificate.

    Args:
        certificate_id: Id of the certificate.

    Returns:
        The certificate: `certificate_id`, `common_name` (such as *.example.org or www.example.org), `issuer`, `owner`
        (the team that looks after it; null if none does), `pinned`: whether clients accept only this very key,
        `validity` with `not_before`, `not_after` (days) and `days_left` (negative once it has expired).
    """
    return {"db": db, "result": db["certificates"][certificate_id]}


@tool(effect="write")
def order_renewal(db: dict[str, Any], certificate_id: str, challenge: str) -> dict[str, Any]:
    """Order a new certificate in place of one.

    Args:
        certificate_id: Id of the certificate.
        challenge: How control of the name is shown: `dns-01` or `http-01`.

    Returns:
        `order_id`, `challenge`, `state`.
    """
    db["serial"] += 1
    order_id = f"ORD-{db['serial']}"
    db["orders"][order_id] = {"certificate_id": certificate_id, "challenge": challenge, "state": "waiting"}
    return {"db": db, "result": {"order_id": order_id, "challenge": challenge, "state": "waiting"}}


@tool(effect="write")
def open_task(db: dict[str, Any], assignee: str, title: str) -> dict[str, Any]:
    """Open a task for a team.

    Args:
        assignee: The team.
        title: What is to be done.

    Returns:
        `task_id`, `assignee`.
    """
    db["serial"] += 1
    task_id = f"TASK-{db['serial']}"
    db["tasks"][task_id] = {"assignee": assignee, "title": title}
    return {"db": db, "result": {"task_id": task_id, "assignee": assignee}}
