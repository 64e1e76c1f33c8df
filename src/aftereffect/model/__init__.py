"""The world: responses, impacts, feedback, problems and the catalog of named families."""
