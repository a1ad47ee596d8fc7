"""Scrapy: follow every link of one host; keep URL and title of each page.

With a fourth argument its queue and its memory of URLs are kept on disk (JOBDIR), so that the crawl
could be resumed, as every gossamer crawl can.
"""

import sys
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

URL, FOLDER, CONCURRENCY = sys.argv[1], sys.argv[2], int(sys.argv[3])


class HostSpider(CrawlSpider):
    name = "host"
    start_urls = (URL,)
    allowed_domains = (urlsplit(URL).hostname,)
    rules = (Rule(LinkExtractor(), callback="keep", follow=True),)

    def keep(self, response):
        if hasattr(response, "css"):
            yield {"url": response.url, "title": response.css("title::text").get()}


resumable = {"JOBDIR": f"{FOLDER}/job"} if len(sys.argv) > 4 else {}
process = CrawlerProcess(
    resumable
    | {
        "CONCURRENT_REQUESTS": CONCURRENCY,
        "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
        "DOWNLOAD_DELAY": 0,
        "AUTOTHROTTLE_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "FEEDS": {f"{FOLDER}/pages.jsonl": {"format": "jsonlines"}},
    }
)
process.crawl(HostSpider)
process.start()
