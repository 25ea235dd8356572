/**
 * What a message to a worker and back costs in Chromium, by the way it goes and by what it carries: µs a round trip, one after another,
 * the ways by turns. The bar for a lone call of a hosted database. Run: `node perf/platform/messages.mjs [rounds]`.
 */
import { createServer } from 'node:http';
import { cpus, loadavg } from 'node:os';
import { chromium } from 'playwright';
import { loadSupport } from '../bundle.mjs';

const ROUNDS = Number(process.argv[2] ?? 41);
const TRIPS = 200;

const worker = `
  const echo = (to) => ({ data }) => to.postMessage(data);
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
  const bytes = (to) => ({ data }) => {
    const { buffer } = encoder.encode(decoder.decode(data));
    to.postMessage(buffer, [buffer]);
  };
  const late = (to) => async ({ data }) => { for (let hop = 0; hop < 12; hop++) await undefined; to.postMessage(data); };
  addEventListener('message', ({ data, ports: [port] }) => {
    if (port) { port.onmessage = { late, echo, bytes }[data](port); return; }
    if (data.broadcast) { const channel = new BroadcastChannel(data.broadcast); channel.onmessage = echo(channel); return postMessage('ready'); }
    postMessage(data);
  });`;

async function measure({ rounds, trips }) {
  const worker = new Worker('/worker.js');
  const asked = (to, message) =>
    new Promise((resolve) => {
      to.onmessage = ({ data }) => resolve(data);
      to.postMessage(message);
    });
  const port = (how) => {
    const { port1, port2 } = new MessageChannel();
    worker.postMessage(how, [port2]);
    return port1;
  };
  await asked(worker, 'first');
  const name = `messages ${Math.random()}`;
  const channel = new BroadcastChannel(name);
  await asked(worker, { broadcast: name });
  const text = '[["call",7,1,"get",{"args":["an id of a document"]}]]';
  const list = JSON.parse(text);
  // Half of what 1,000 documents are, as an answer in parts has it.
  const much = `["ok",${JSON.stringify('a part of a document '.repeat(8_000))}]`;
  const [echo, late, bytes] = [port('echo'), port('late'), port('bytes')];
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
  const askedInBytes = (to, message) =>
    new Promise((resolve) => {
      to.onmessage = ({ data }) => resolve(decoder.decode(data));
      const { buffer } = encoder.encode(message);
      to.postMessage(buffer, [buffer]);
    });
  const ways = {
    'worker.postMessage, text': [worker, text],
    'worker.postMessage, list': [worker, list],
    'MessagePort, text': [echo, text],
    'MessagePort, list': [echo, list],
    'MessagePort, text, answered after 12 microtasks': [late, text],
    'BroadcastChannel, text': [channel, text],
    'worker.postMessage, 170 kB of text': [worker, much],
    'MessagePort, 170 kB of text': [echo, much],
    'MessagePort, 170 kB of text as bytes handed over': [bytes, much, askedInBytes],
    'MessagePort, text as bytes handed over': [bytes, text, askedInBytes],
  };
  const times = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
  for (let round = -3; round < rounds; round++) {
    for (const [way, [to, message, ask = asked]] of Object.entries(ways)) {
      const start = performance.now();
      for (let trip = 0; trip < trips; trip++) await ask(to, message);
      if (round >= 0) times[way].push(((performance.now() - start) * 1000) / trips);
    }
  }
  return times;
}

const server = createServer((request, response) => {
  response.setHeader('content-type', request.url === '/worker.js' ? 'text/javascript' : 'text/html');
  response.setHeader('cross-origin-opener-policy', 'same-origin');
  response.setHeader('cross-origin-embedder-policy', 'require-corp');
  response.end(request.url === '/worker.js' ? worker : '<!doctype html>');
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const { browserArgs, findUsersBrowser } = await loadSupport('find-browser');
const browser = await chromium.launch({ executablePath: findUsersBrowser(), args: browserArgs });
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const times = await page.evaluate(measure, { rounds: ROUNDS, trips: TRIPS });
  console.log(`Chromium ${browser.version()}, ${cpus()[0]?.model}, load ${loadavg()[0].toFixed(1)}`);
  for (const [way, each] of Object.entries(times)) {
    each.sort((a, b) => a - b);
    console.log(`${way.padEnd(50)} ${each[each.length >> 1].toFixed(1)} µs, least ${each[0].toFixed(1)}`);
  }
} finally {
  await browser.close();
  server.close();
}
