/**
 * What hosting in a worker costs a call, and what it spares the page. Costs are differences to the same call in the page, by
 * turns, and with them a bare message to a worker and back (more of that: perf/platform/messages.mjs); what the page is spared is seen in its long tasks while documents are loaded, beside PouchDB in the page and in a worker.
 */
import PouchDB from 'pouchdb-browser';
import workerAdapter from 'worker-pouch';
import { SettleDB } from '../../../packages/settledb/src/entry.browser';
import { connect } from '../../../packages/settledb/src/worker';
import { makeDocs, type PerfDoc } from '../docs';
import type { RunOptions } from '../suite';

PouchDB.adapter('worker', workerAdapter);
const Hosted = connect(() => new Worker('/hosted.js', { type: 'module' }));

const LOADED = 50_000;
const PER_CALL = 1_000;
/** Timings of which the median is taken. */
const TIMES = 41;
/** Calls one after the other in a timing of lone ones: the clock of a page is coarse. */
const LONE = 200;
/** Milliseconds before a call of which the sides have rested. */
const REST = 10;

/** A message to a worker and back, of the size of a lone call. */
async function bareTrip(): Promise<() => Promise<unknown>> {
  const script =
    'onmessage = ({ ports: [port] }) => { port.onmessage = ({ data }) => port.postMessage(data); };';
  const worker = new Worker(URL.createObjectURL(new Blob([script])));
  const { port1, port2 } = new MessageChannel();
  worker.postMessage('', [port2]);
  const trip = (): Promise<unknown> =>
    new Promise((resolve) => {
      port1.onmessage = resolve;
      port1.postMessage('[["call",1000,1,"info",{"args":[]}]]');
    });
  await trip();
  return trip;
}

type Db = {
  get(id: string): Promise<unknown>;
  info(): Promise<unknown>;
  allDocs(options: object): Promise<{ rows: readonly unknown[] }>;
  bulkDocs(docs: readonly PerfDoc[]): Promise<readonly unknown[]>;
  destroy(): Promise<unknown>;
};

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

interface Cost {
  readonly inPage: number;
  readonly hosted: number;
  /** Median of the differences of neighbouring timings, so that a busy machine falls on both. */
  readonly more: number;
  /** The quickest there, less the quickest here: what is left of it on an idle machine. */
  readonly least: number;
}

/** Timings of all ways by turns, in their order. @param per what one timing is divided by; milliseconds */
async function turns(per: number, ways: readonly (() => Promise<unknown>)[]): Promise<number[][]> {
  const times = ways.map((): number[] => []);
  for (let time = 0; time < TIMES + 3; time++) {
    for (const [at, way] of ways.entries()) {
      const ms = await timed(way);
      if (time >= 3) times[at]!.push(ms / per);
    }
  }
  return times;
}

const costOf = (inPage: readonly number[], hosted: readonly number[]): Cost => ({
  inPage: median(inPage),
  hosted: median(hosted),
  more: median(hosted.map((ms, at) => ms - inPage[at]!)),
  least: Math.min(...hosted) - Math.min(...inPage),
});

async function cost(page: Db, hosted: Db, per: number, work: (db: Db) => Promise<unknown>): Promise<Cost> {
  const [here, there] = await turns(per, [() => work(page), () => work(hosted)]);
  return costOf(here!, there!);
}

/** Of calls one after the other, and of a bare message in the same turns: the machine decides what that costs, from round to round. */
async function loneCosts(
  page: Db,
  hosted: Db,
  id: string,
): Promise<Record<'lone' | 'loneGet' | 'bare' | 'overBare', Cost>> {
  const trip = await bareTrip();
  const lone = (call: () => Promise<unknown>) => async () => {
    for (let made = 0; made < LONE; made++) await call();
  };
  const ways = [() => page.info(), () => hosted.info(), () => page.get(id), () => hosted.get(id), trip];
  const [info, hostedInfo, get, hostedGet, bare] = await turns(LONE, ways.map(lone));
  return {
    lone: costOf(info!, hostedInfo!),
    loneGet: costOf(get!, hostedGet!),
    bare: costOf(
      bare!.map(() => 0),
      bare!,
    ),
    overBare: costOf(bare!, hostedInfo!),
  };
}

/** Of a call that nothing was said before for a while: both sides have gone to sleep. The median of each; milliseconds. */
async function restedCost(page: Db, hosted: Db): Promise<Cost> {
  const rested = async (db: Db): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve, REST));
    return timed(() => db.info());
  };
  const times: Record<'here' | 'there', number[]> = { here: [], there: [] };
  for (let time = 0; time < LONE; time++) {
    times.here.push(await rested(page));
    times.there.push(await rested(hosted));
  }
  return costOf(times.here, times.there);
}

interface Load {
  readonly ms: number;
  /** Tasks over 50 ms, as the browser counts them, and the longest. */
  readonly longTasks: number;
  readonly longestMs: number;
}

/** Loads the documents, and watches the page meanwhile. */
async function load(db: Db, docs: readonly PerfDoc[], perCall: number): Promise<Load> {
  await db.info();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const tasks: number[] = [];
  const note = (list: { getEntries(): PerformanceEntry[] }): void => {
    for (const { duration } of list.getEntries()) tasks.push(duration);
  };
  const observer = new PerformanceObserver(note);
  observer.observe({ type: 'longtask' });
  const ms = await timed(async () => {
    for (let at = 0; at < docs.length; at += perCall) {
      // As documents come from somewhere: each call in a task of its own.
      await new Promise((resolve) => setTimeout(resolve));
      await db.bulkDocs(docs.slice(at, at + perCall));
    }
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  note({ getEntries: () => observer.takeRecords() });
  observer.disconnect();
  await db.destroy();
  return { ms: Math.round(ms), longTasks: tasks.length, longestMs: Math.round(Math.max(0, ...tasks)) };
}

/** @returns what was measured, and in words */
export async function figures(
  { documents = LOADED }: Partial<RunOptions>,
  log: (line: string) => void,
): Promise<{ readonly figures: object; readonly lines: string[] }> {
  const stamp = Date.now();
  const [page, hosted] = [new SettleDB(`page-${stamp}`), new Hosted(`hosted-${stamp}`)] as unknown as [
    Db,
    Db,
  ];
  const thousand = makeDocs(PER_CALL, Math.random);
  for (const db of [page, hosted]) await db.bulkDocs(thousand);
  const id = thousand[0]!._id;
  const ids = thousand.map(({ _id }) => _id);
  log('calls');
  const rested = await restedCost(page, hosted);
  const { lone, loneGet, bare, overBare } = await loneCosts(page, hosted, id);
  const together = await cost(page, hosted, PER_CALL, (db) => Promise.all(ids.map(() => db.info())));
  const togetherGet = await cost(page, hosted, PER_CALL, (db) =>
    Promise.all(ids.map((each) => db.get(each))),
  );
  const read = await cost(page, hosted, 1, (db) => db.allDocs({ include_docs: true }));
  let round = 0;
  const written = await cost(page, hosted, 1, (db) => {
    round++;
    return db.bulkDocs(thousand.map((doc) => ({ ...doc, _id: `${doc._id}-${round}` })));
  });
  for (const db of [page, hosted]) await db.destroy();

  const docs = makeDocs(documents, Math.random);
  const loaders: Record<string, () => Db> = {
    'settledb in the page': () => new SettleDB(`load-${Date.now()}`) as unknown as Db,
    'settledb in a worker': () => new Hosted(`load-${Date.now()}`) as unknown as Db,
    'PouchDB in the page': () => new PouchDB(`load-${Date.now()}`, { adapter: 'idb' }),
    'PouchDB in a worker (worker-pouch)': () => new PouchDB(`load-${Date.now()}`, { adapter: 'worker' }),
  };
  const loads: Record<string, Load> = {};
  for (const [name, open] of Object.entries(loaders)) {
    for (const perCall of [PER_CALL, documents]) {
      const label = `${name}, ${perCall} documents a call`;
      log(label);
      loads[label] = await load(open(), docs, perCall);
    }
  }
  const microseconds = (value: number): string => (value * 1000).toFixed(1);
  const us = ({ inPage, hosted: inWorker, more, least }: Cost): string =>
    `${microseconds(more)} µs more, at least ${microseconds(least)} (in the page ${microseconds(inPage)}, in a worker ${microseconds(inWorker)})`;
  const ms = ({ inPage, hosted: inWorker, more, least }: Cost): string =>
    `${more.toFixed(2)} ms more, at least ${least.toFixed(2)} (in the page ${inPage.toFixed(2)}, in a worker ${inWorker.toFixed(2)})`;
  return {
    figures: { lone, loneGet, rested, bare, overBare, together, togetherGet, read, written, loads },
    lines: [
      `a lone call (info): ${us(lone)}; a lone get: ${us(loneGet)}`,
      `a call (info) after ${REST} ms of rest: ${us(rested)}`,
      `a bare message to a worker and back, between them: ${us(bare)}; a lone info more than that: ${microseconds(overBare.more)}, at least ${microseconds(overBare.least)}`,
      `a call of 1,000 together (info): ${us(together)}; a get of 1,000: ${us(togetherGet)}`,
      `1,000 documents read by allDocs: ${ms(read)}; written by bulkDocs: ${ms(written)}`,
      ...Object.entries(loads).map(
        ([label, each]) =>
          `${documents} documents into ${label}: ${each.ms} ms, ${each.longTasks} tasks over 50 ms in the page, the longest ${each.longestMs} ms`,
      ),
    ],
  };
}
