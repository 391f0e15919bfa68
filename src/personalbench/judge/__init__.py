"""The judge: traits, trait scoring and same-author, three calls that know little of each other."""
