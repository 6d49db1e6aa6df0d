"""The tools of a shop's support agent. A real shop would ask its database and its payment service."""

from flowmind import tool

ORDERS = {
    "A-1001": {"customer": "Ana Costa", "category": "shoes", "total": 89.9, "days_since_delivery": 6},
    "A-1002": {"customer": "Ben Okoye", "category": "shoes", "total": 120.0, "days_since_delivery": 45},
    "A-1003": {"customer": "Chen Wei", "category": "electronics", "total": 349.0, "days_since_delivery": 14},
    "A-1004": {"customer": "Dana Levi", "category": "electronics", "total": 59.5, "days_since_delivery": 15},
    "A-1005": {"customer": "Emil Berg", "category": "shoes", "total": 64.0, "days_since_delivery": 30},
    "A-1006": {"customer": "Fay Doyle", "category": "shoes", "total": 75.0, "days_since_delivery": 31},
    "A-1007": {"customer": "Goro Mori", "category": "electronics", "total": 210.0, "days_since_delivery": 3},
    "A-1008": {"customer": "Hana Novak", "category": "electronics", "total": 18.0, "days_since_delivery": 90},
    "A-1009": {"customer": "Ines Roy", "category": "gift card", "total": 50.0, "days_since_delivery": 2},
}
POLICIES = {
    "shoes": {"refund_days": 30, "voucher_percent": 20},
    "electronics": {"refund_days": 14, "voucher_percent": 25},
}


@tool(effect="read")
def get_order(order_id: str) -> dict:
    """Look up an order: its customer, category and total, and the days since its delivery."""
    if order_id not in ORDERS:
        raise ValueError(f"there is no order {order_id!r}")
    return ORDERS[order_id]


@tool(effect="read")
def get_policy(category: str) -> dict:
    """Look up the refund policy of a category."""
    if category not in POLICIES:
        raise ValueError(f"there is no refund policy for the category {category!r}")
    return POLICIES[category]


@tool(effect="write")
def issue_refund(order_id: str, amount: float) -> dict:
    """Pay an amount back to the customer of an order."""
    return {"status": "refunded", "amount": amount, "reference": f"RF-{order_id}"}


@tool(effect="write")
def send_voucher(order_id: str, percent: float) -> dict:
    """Send the customer of an order a voucher instead of a refund."""
    return {"status": "voucher", "percent": percent, "reference": f"VO-{order_id}"}
