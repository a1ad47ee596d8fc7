// spider-rs for Node: follow every link of one host. Its binding has no setting for concurrency;
// the library's own limit is at least 20 on any machine.
import { Website } from "@spider-rs/spider-rs";

let pages = 0;
const website = new Website(process.argv[2]).withRespectRobotsTxt(true).withDelay(0).build();
await website.crawl((error) => {
  if (!error) pages += 1;
});
console.log(`${pages} pages`);
// Its subscription keeps Node alive for a minute after the crawl.
process.exit(0);
