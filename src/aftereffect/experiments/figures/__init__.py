"""The paper's experiments: beside each spec the claims that rest on it and the ways of judging them."""
