"""What alembic runs: the steps, on the connection it is given."""

from alembic import context

from aftereffect.programs.schema import VERSION_TABLE, tables

context.configure(
    connection=context.config.attributes["connection"], target_metadata=tables, version_table=VERSION_TABLE
)
context.run_migrations()
