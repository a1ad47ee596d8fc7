// spider-rs for Node: follow every link of one host; its binding has no setting for concurrency.
import { Website } from "@spider-rs/spider-rs";

let pages = 0;
const website = new Website(process.argv[2]).withRespectRobotsTxt(true).withDelay(0).build();
await website.crawl((error) => {
  if (!error) pages += 1;
});
console.log(`${pages} pages`);
