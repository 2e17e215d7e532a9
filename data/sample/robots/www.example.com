# Example Trading Company
# Questions about this file: webmaster@example.com

User-agent: *
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php
Disallow: /search
Disallow: /*?replytocom=
Disallow: /cgi-bin/
Disallow: /tmp/

Sitemap: https://www.example.com/sitemap_index.xml
