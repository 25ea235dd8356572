#!/usr/bin/env node
/**
 * After a build: puts LICENSE beside package.json and the licences of what was bundled into dist/THIRD-PARTY.txt. Which
 * packages those are is read from the source maps, so that none is forgotten.
 */
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const maps = readdirSync(here('dist')).filter((file) => file.endsWith('.map'));
if (maps.length === 0) throw new Error('dist holds no source maps: build first');
const sources = maps.flatMap((file) => JSON.parse(readFileSync(here(`dist/${file}`), 'utf8')).sources);
const folders = new Set(
  sources.flatMap(
    (path) => /node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0].replace('node_modules/', '') ?? [],
  ),
);

const notices = [...folders].sort().map((name) => {
  const root = here(`../../node_modules/${name}`);
  const { version, license } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
  const file = readdirSync(root).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined || !existsSync(`${root}/${file}`)) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(`${root}/${file}`, 'utf8').trim()}\n`;
});
writeFileSync(here('dist/THIRD-PARTY.txt'), notices.join(`\n${'-'.repeat(72)}\n\n`));
copyFileSync(here('../../LICENSE'), here('LICENSE'));
console.log(`licences of ${[...folders].sort().join(', ')}`);
