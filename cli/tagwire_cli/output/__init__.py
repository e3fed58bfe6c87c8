"""What commands print: tables, JSON and bytes, problems and findings, progress; and what exit statuses mean."""
