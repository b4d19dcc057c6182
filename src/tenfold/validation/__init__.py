"""Whatever comes from a user is checked here."""
