"""The local verifier: reads plain English sentences by rule, without a model."""
