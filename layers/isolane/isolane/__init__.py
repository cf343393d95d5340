"""The Cloudflare Workers way of working, on AWS. Import the part you need: `from isolane.tasks import Tasks`."""
