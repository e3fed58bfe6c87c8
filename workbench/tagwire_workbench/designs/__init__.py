"""What designs cost, and what two of them both claim."""
