User-agent: *
Allow: /watch?v=
Allow: /channel/*/about$
Disallow: /watch
Disallow: /channel/*/community
Disallow: /results
Disallow: /embed/
Disallow: /api/

User-agent: GPTBot
User-agent: Bytespider
Disallow: /watch
Disallow: /transcripts/

User-agent: Twitterbot
Disallow:
