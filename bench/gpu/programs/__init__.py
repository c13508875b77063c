"""Programs outside the corpus, to judge diagnoses and predictions on: other models, other names of ranges, or none."""
from programs import copies, host, kernels, limits

PROGRAMS = {**host.PROGRAMS, **copies.PROGRAMS, **kernels.PROGRAMS, **limits.PROGRAMS}
