User-agent: *
Disallow: /apply/
Disallow: /*?*utm_
Disallow: /*?*ref=
Disallow: /jobs/*/expired$
Noindex: /jobs/archive/

User-agent: Googlebot
User-agent: Bingbot
Disallow: /apply/
Disallow: /jobs/archive/

Host: jobs.example.com
Sitemap: https://jobs.example.com/sitemap-jobs.xml
