"""The test for one person: the same measurement as the pipeline's, on one frozen bundle."""
