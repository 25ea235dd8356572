#!/usr/bin/env node
/**
 * Before packing: puts the guides for users into docs/, where who has installed the package finds them. What they link to besides
 * (decisions, figures, the demo) stays in the repository, and only the words of such a link are kept.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const GUIDES =
  'reference queries conflicts migration worker pwa tools server command-line dumps couchdb-differences file-format'.split(
    ' ',
  );

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const isKept = (link) => /^https?:|^#/.test(link) || GUIDES.includes(/^([\w-]+)\.md/.exec(link)?.[1]);

rmSync(here('docs'), { recursive: true, force: true });
mkdirSync(here('docs'));
for (const name of GUIDES) {
  const text = readFileSync(here(`../../docs/${name}.md`), 'utf8')
    .replaceAll(/ \(\[why\]\((?!#)[^)]+\)\)/g, '')
    .replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, (whole, words, link) => (isKept(link) ? whole : words));
  writeFileSync(here(`docs/${name}.md`), text);
}
console.log(`guides: ${GUIDES.join(', ')}`);
