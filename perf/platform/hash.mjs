/**
 * Which hash makes revisions: time per document of md5 and SHA-256 (node:crypto; crypto.subtle, the only one browsers have)
 * and of our 128-bit word hash. Decision: docs/decisions/0001-revision-hash.md. Run: `node perf/platform/hash.mjs`.
 */
import { createHash, hash as oneShot } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { transform } from 'esbuild';

const ROUNDS = 15;
const LENGTHS = [100, 400, 4_000, 100_000];
/** Code units hashed in one round, so that rounds take alike. */
const VOLUME = 4_000_000;

const source = await readFile(new URL('../../packages/core/src/model/hash.ts', import.meta.url), 'utf8');
const { code } = await transform(source, { loader: 'ts' });
const { hash128 } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

const viaCrypto = (name) =>
  oneShot === undefined
    ? (text) => createHash(name).update(text).digest('hex')
    : (text) => oneShot(name, text, 'hex');
const candidates = {
  'word hash (ours)': (text) => hash128(1, 0, text.length, 0, text),
  'md5, node:crypto': viaCrypto('md5'),
  'sha256, node:crypto': viaCrypto('sha256'),
  'sha256, crypto.subtle': async (text) =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))),
};

/** Bodies as the hot path has them: JSON text just made, different each time. */
function bodies(length) {
  const count = Math.max(20, Math.round(VOLUME / length));
  return Array.from({ length: count }, (_, n) =>
    JSON.stringify({
      n,
      name: `document ${n}`,
      text: 'Zürich or elsewhere, '.repeat(length).slice(0, length - 40),
    }),
  );
}

async function microseconds(hash, texts) {
  const start = performance.now();
  for (const text of texts) {
    const answer = hash(text);
    if (answer instanceof Promise) await answer;
  }
  return ((performance.now() - start) * 1000) / texts.length;
}

const sorted = (list) => [...list].sort((a, b) => a - b);
const rows = [];
for (const length of LENGTHS) {
  const texts = bodies(length);
  const times = Object.fromEntries(Object.keys(candidates).map((name) => [name, []]));
  // Interleaved, so that a noisy second hits all of them.
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, hash] of Object.entries(candidates)) times[name].push(await microseconds(hash, texts));
  }
  for (const [name, list] of Object.entries(times)) {
    const [minimum] = sorted(list);
    rows.push({
      length,
      hash: name,
      median_us: sorted(list)[ROUNDS >> 1].toFixed(2),
      min_us: minimum.toFixed(2),
    });
  }
}
console.log(`Node ${process.version}, ${cpus()[0]?.model}`);
console.table(rows);
