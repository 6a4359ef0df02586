"""What every backend module stands on: database, errors, ids, auth, logs. Nothing here knows what a plan is."""
