/** Which database a window of the demo has: a link must not send one's own to somebody else's server. */
import { expect, it } from 'vitest';
import { chosen } from '../../docs/examples/atlas/page/address';

const PAGE = 'http://127.0.0.1:5984/';
const at = (query: string) => chosen(PAGE + query);
const remote = (address: string, more = '') => at(`?remote=${encodeURIComponent(address)}${more}`);

it("a window's own database is synced with the page's server alone", () => {
  expect(at('')).toEqual({ replica: 'one', name: 'atlas', remote: undefined });
  expect(at('?replica=x7')).toEqual({ replica: 'x7', name: 'atlas-x7', remote: undefined });
  expect(remote(`${PAGE}atlas`)).toEqual(at(''));
  expect(remote('/atlas', '&replica=x7')).toEqual(at('?replica=x7'));
});

it("another server has a database of its own, by its address and whoever's password", () => {
  const couch = remote('http://user:password@couch:5984/atlas');
  expect(couch.remote).toBe('http://user:password@couch:5984/atlas');
  expect(couch.name).not.toContain('password');
  expect(remote('http://other@COUCH:5984/atlas').name).toBe(couch.name);
  const others = [
    remote('https://evil.example/db'),
    remote('https://evil.example/db', '&replica=x7'),
    remote('https://evil.example/db2'),
    remote('http://127.0.0.1:5985/atlas'),
    remote(`${PAGE}other`),
    remote('atlas-x7'),
  ];
  for (const { remote } of others) expect(remote).toMatch(/^https?:/);
  const names = [couch, ...others, at(''), at('?replica=x7')].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  // Nor does a replica have such a name, which would bring it together with the page's server.
  for (const { name } of others) {
    expect(name).not.toMatch(/^atlas/);
    expect(at(`?replica=${encodeURIComponent(name)}`).name).not.toBe(name);
  }
});

it('what is no address of a server is refused', () => {
  for (const address of ['javascript:1', 'http://', 'file:///x'])
    expect(() => remote(address)).toThrow(TypeError);
});
