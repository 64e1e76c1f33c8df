"""The paper's theory as functions: tuning, bounds, hard instances, the dynamic and the fair optimum."""
