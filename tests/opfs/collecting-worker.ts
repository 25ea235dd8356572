import { opfs } from '@settledb/adapter-opfs';
import { SettleDB } from '../../packages/settledb/src/settledb';

type Collect = (how: { readonly type: 'major' | 'minor'; readonly execution: 'async' }) => Promise<void>;
const collect = (globalThis as unknown as { readonly gc: Collect }).gc;

/** Until the page ends the worker. */
async function collectAlways(): Promise<never> {
  for (;;) {
    await collect({ type: 'minor', execution: 'async' });
    await collect({ type: 'major', execution: 'async' });
  }
}

async function openings(count: number): Promise<number> {
  const adapter = opfs();
  const text = 'x'.repeat(1_200_000); // A log this long has its places noted when it is closed, in a new file.
  void collectAlways();
  let docs = 0;
  for (let i = 0; i < count; i++) {
    const db = new SettleDB('collected', { adapter });
    await db.put({ _id: `doc${i}`, text });
    await db.putAttachment(`large${i}`, 'x', new Blob([new Uint8Array(200_000)]), 'a/b');
    docs = (await db.info()).doc_count;
    await db.close();
  }
  return docs;
}

globalThis.onmessage = ({ data: count }: MessageEvent<number>) => {
  openings(count).then(postMessage, (error) => postMessage(String(error)));
};
