"""Tokens of the service, and the sessions that a login opens."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the service's tables."""
    op.create_table(
        "aftereffect_tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("program", sa.String(100)),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("expires", sa.Double, nullable=False),
        sa.Column("revoked", sa.Double),
        sa.Column("last_used", sa.Double),
    )
    op.create_table(
        "aftereffect_sessions",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("token", sa.String(16), nullable=False),
        sa.Column("csrf", sa.String(64), nullable=False),
        sa.Column("expires", sa.Double, nullable=False),
    )
