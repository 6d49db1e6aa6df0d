"""The tools of a newspaper: articles, contributors, desks, photos and their licences."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_article(db: dict[str, Any], article_id: str) -> dict[str, Any]:
    """Get an article.

    Args:
        article_id: Id of the article, such as ART-20417.

    Returns:
        The article: `id`, `headline`, `slug`, `topic`, `desk_code`, `author_id`, `length` with `words` and `lines`,
        `publish_on`, `lead_photo` (the id of a photo, may be null).
    """
    return {"db": db, "result": db["articles"][article_id]}


@tool(effect="read")
def get_contributor(db: dict[str, Any], contributor_id: str) -> dict[str, Any]:
    """Get a contributor.

    Args:
        contributor_id: Id of the contributor.

    Returns:
        The contributor: `id`, `byline`, `rate`: the fee for a word, `account` with `holder` and `bank`.
    """
    return {"db": db, "result": db["contributors"][contributor_id]}


@tool(effect="read")
def get_desk(db: dict[str, Any], code: str) -> dict[str, Any]:
    """Get a desk of the newsroom.

    Args:
        code: Code of the desk.

    Returns:
        The desk: `code`, `title`, `editor`, `cost_centre`.
    """
    return {"db": db, "result": db["desks"][code]}


@tool(effect="read")
def search_photos(db: dict[str, Any], topic: str) -> dict[str, Any]:
    """Search the photo archive; the best hits come first.

    Args:
        topic: The topic.

    Returns:
        `hits` with `photo_id`, `shot_by`, `size` with `width` and `height` in pixels.
    """
    found = [(row["rank"], id) for id, row in db["photos"].items() if row["topic"] == topic]
    hits = [
        {"photo_id": id, "shot_by": db["photos"][id]["shot_by"], "size": db["photos"][id]["size"]}
        for _, id in sorted(found)
    ]
    return {"db": db, "result": {"hits": hits}}


@tool(effect="read")
def get_licence(db: dict[str, Any], photo_id: str) -> dict[str, Any]:
    """Get the licence of a photo.

    Args:
        photo_id: Id of the photo.

    Returns:
        `photo_id`, `holder`, `channels` (some of `web`, `print`, `social`), `until`: the last day of the licence (null
        if it does not end).
    """
    return {"db": db, "result": {"photo_id": photo_id, **db["photos"][photo_id]["licence"]}}


@tool(effect="write")
def set_lead_photo(db: dict[str, Any], article_id: str, photo_id: str, credit: str) -> dict[str, Any]:
    """Put a photo at the top of an article.

    Args:
        article_id: Id of the article.
        photo_id: Id of the photo.
        credit: What is printed below it.

    Returns:
        `article_id`, `photo_id`, `credit`.
    """
    row = db["articles"][article_id]
    row["lead_photo"] = photo_id
    row["credit"] = credit
    return {"db": db, "result": {"article_id": article_id, "photo_id": photo_id, "credit": credit}}


@tool(effect="write")
def request_shoot(db: dict[str, Any], desk_code: str, subject: str, needed_by: str) -> dict[str, Any]:
    """Ask the photographers for a new photo.

    Args:
        desk_code: Code of the desk that pays.
        subject: What is to be seen.
        needed_by: The day on which it is needed.

    Returns:
        `shoot_no`, `photographer`.
    """
    number = f"SH{db['next_shoot']}"
    db["next_shoot"] += 1
    db["shoots"][number] = {"desk_code": desk_code, "subject": subject, "needed_by": needed_by}
    return {"db": db, "result": {"shoot_no": number, "photographer": db["desks"][desk_code]["photographer"]}}
