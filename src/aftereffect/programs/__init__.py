"""Durable programs: named decision processes whose every event is kept, chained and can be recomputed."""
