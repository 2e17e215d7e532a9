User-agent: *
Disallow: /cart
Disallow: /checkout
Disallow: /account/
Disallow: /*?*sort=
Disallow: /*?*price=*-*
Disallow: /*/print$
Disallow: /wishlist/*/share
Allow: /*?page=
Crawl-delay: 2

# Price comparison only: no copies of what our customers wrote.
User-agent: GPTBot
User-agent: CCBot
User-agent: Bytespider
Disallow: /reviews/
Disallow: /cart
Disallow: /checkout
Disallow: /account/

User-agent: AdsBot-Google
Disallow: /checkout

Sitemap: https://shop.example.com/sitemaps/products.xml
Sitemap: https://shop.example.com/sitemaps/categories.xml
