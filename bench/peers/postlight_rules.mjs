// Prints, as JSON, the hand-written rules of the package @postlight/parser: for each page in its
// tests the places of the article, and the title, author and date that the tests expect.
import fs from 'node:fs';
import path from 'node:path';

const folder = path.join(process.argv[2], 'src/extractors/custom');

const evaluate = (code) => new Function(`return (${code});`)();

const readRule = (source) => {
  const code = source
    .replace(/^import .*$/gm, '')
    .replace(/export const \w+\s*=/, 'var rule =')
    .replace(/export default.*$/gm, '');
  return new Function(`${code}; return rule;`)();
};

const literal = '(`[^`]*`|\'(?:[^\'\\\\]|\\\\.)*\'|"(?:[^"\\\\]|\\\\.)*"|null)';
const expected = (text, name) => {
  const found = text.match(new RegExp(`assert\\.(?:strictE|e)qual\\(\\s*${name},\\s*${literal}`));
  return found ? evaluate(found[1]) : undefined;
};

const pages = [];
for (const site of fs.readdirSync(folder)) {
  const rulePath = path.join(folder, site, 'index.js');
  const testPath = path.join(folder, site, 'index.test.js');
  if (!fs.existsSync(rulePath) || !fs.existsSync(testPath)) continue;
  const { content } = readRule(fs.readFileSync(rulePath, 'utf8'));
  const tests = fs.readFileSync(testPath, 'utf8');
  const marks = [...tests.matchAll(/fixtures\/[^'"`]+\.html/g)];
  marks.forEach((mark, number) => {
    const urls = [...tests.slice(0, mark.index).matchAll(/['"](https?:\/\/[^'"\s]+)['"]/g)];
    const text = tests.slice(mark.index, marks[number + 1]?.index ?? tests.length);
    pages.push({
      site,
      fixture: mark[0],
      url: urls.pop()?.[1] ?? '',
      content: content?.selectors,
      clean: content?.clean ?? [],
      title: expected(text, 'title'),
      author: expected(text, 'author'),
      date: expected(text, 'date_published'),
    });
  });
}
console.log(JSON.stringify(pages));
