"""Find flaws in designs (`tagwire lint`), and conflicts between designs (`tagwire collide`)."""
