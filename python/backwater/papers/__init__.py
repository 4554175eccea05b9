"""Papers: their claims, definitions and figures, reproduced, varied and reported."""
