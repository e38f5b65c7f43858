"""Our worlds as environments of Gymnasium; import `globalbandits.adapters.gym` to use them."""
