"""Learning whole response curves: fields, fits, impacts as several models see them, forgetting, and decisions."""
