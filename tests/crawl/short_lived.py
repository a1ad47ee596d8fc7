"""A worker that says it is ready, and ends without a word on what it was ordered to do."""

import sys

from gossamer.crawl.duty import report_for_duty, say_ready

if __name__ == "__main__":
    link, _, _ = report_for_duty(sys.argv[1:])
    say_ready(link, sys.argv[1:])
