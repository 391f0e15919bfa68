"""MLflow: one flat run a twin, with ceiling and floor beside every score."""
