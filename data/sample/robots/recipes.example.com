User-agent: *
Content-Signal: search=yes, ai-input=yes, ai-train=no
Disallow: /print/
Disallow: /recipe/*/nutrition$
Disallow: /my-cookbook
Disallow: /*?servings=

User-agent: GPTBot
User-agent: ClaudeBot
Disallow: /recipe/
Allow: /recipe/*/summary$

User-agent: Bingbot
Crawl-delay: 3
Disallow: /print/

Sitemap: https://recipes.example.com/sitemap.xml
