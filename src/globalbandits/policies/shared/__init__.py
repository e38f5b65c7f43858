"""What several policies share; nothing here imports a policy."""
