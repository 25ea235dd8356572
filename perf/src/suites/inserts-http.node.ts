/** A hundred thousand inserts over HTTP by ten clients: latencies as clients see them, CPU time and memory of the server. */
import { makeDocs } from '../docs';
import { HttpClient } from '../http-client';
import { countOf, insertMeasures, insertUnits, Latencies } from '../insert-cases';
import type { RunOptions, Suite, SuiteContender } from '../suite';

const CLIENTS = 10;
/** Documents made at a time. */
const BATCH = 1_000;

export function suite({ startServer }: RunOptions): Suite {
  if (startServer === undefined) throw new Error('no way to start servers was given');
  const contender = (name: string, kind: Parameters<typeof startServer>[0]): SuiteContender => ({
    name,
    round: async (_time, setting) => {
      const { url, usage, close } = await startServer(kind);
      const clients = new HttpClient(url);
      try {
        await clients.call('PUT', '/inserts');
        const count = countOf(setting);
        const latencies = new Latencies(count);
        const before = usage();
        let total = 0;
        for (let done = 0; done < count; done += BATCH) {
          const docs = makeDocs(Math.min(BATCH, count - done), Math.random);
          const begun = performance.now();
          const client = async (): Promise<void> => {
            for (let doc = docs.pop(); doc !== undefined; doc = docs.pop()) {
              const { _id } = doc;
              const body = doc;
              await latencies.time(() => clients.call('PUT', `/inserts/${_id}`, body));
            }
          };
          await Promise.all(Array.from({ length: CLIENTS }, client));
          total += performance.now() - begun;
        }
        setting.record('total', total);
        latencies.record(setting);
        const after = usage();
        if (before === undefined || after === undefined) return;
        setting.record('CPU time', after.cpuMs - before.cpuMs);
        setting.record('RSS', after.rssMb);
      } finally {
        clients.close();
        await close();
      }
    },
  });
  return {
    title: "PUTs of documents of about 300 bytes by ten clients; CPU time and memory are the server's",
    documents: 100_000,
    rounds: 1,
    units: { ...insertUnits, total: `all documents, by ${CLIENTS} clients that await each answer` },
    measures: insertMeasures,
    contenders: [
      contender('settledb', 'relaxed'),
      contender('settledb, strict', 'strict'),
      contender('express-pouchdb', 'express-pouchdb'),
    ],
  };
}
