"""What a cached score depends on beside its text: change one of these, and no cached score answers any more.

They stand apart from what they version so that the API, which only needs the numbers, imports neither.
"""

PROMPT_VERSION = "2"
"""Changes with everything that a model is asked."""
RUBRIC_VERSION = "1"
"""Changes with everything that the rubric counts."""
