"""Stand-ins for other tools, so that a script changes one import."""
