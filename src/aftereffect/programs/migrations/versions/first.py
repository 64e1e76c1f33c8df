"""Programs, their events, and snapshots."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "aftereffect_programs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
    )
    op.create_table(
        "aftereffect_events",
        sa.Column("program", sa.Integer, sa.ForeignKey("aftereffect_programs.id"), primary_key=True),
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("round", sa.BigInteger),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("by", sa.String(200)),
        sa.Column("key", sa.String(200)),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_index("aftereffect_key", "aftereffect_events", ["program", "key"], unique=True)
    op.create_index("aftereffect_round", "aftereffect_events", ["program", "round"])
    op.create_table(
        "aftereffect_snapshots",
        sa.Column("program", sa.Integer, sa.ForeignKey("aftereffect_programs.id"), primary_key=True),
        sa.Column("made_with", sa.String(64), primary_key=True),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
