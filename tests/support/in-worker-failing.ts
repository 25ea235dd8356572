/** Tests that fail in every way, for in-worker.browser.test.ts to see what is told of them. */
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';

it('expects what is not', ({ onTestFinished }) => {
  onTestFailed(() => void Promise.reject(new Error('nobody handles this')));
  onTestFinished(() => {
    throw new Error('and then this');
  });
  expect({ a: 1, b: ['same'] }).toEqual({ a: expect.any(String), b: ['same'] });
});

it('passes', () => {});

it('stands too long', { timeout: 10 }, () => new Promise(() => {}));

it('expects one assertion', () => expect.assertions(1));

it('skips itself', (context) => context.skip('as it should'));

describe('before', () => {
  beforeAll(() => {
    throw new TypeError('not begun');
  });
  it('has no turn', () => {});
  it('has none either', () => {});
});

describe('after', () => {
  afterAll(() => {
    throw new Error('not ended');
  });
  it('has its turn', () => {});
});

it('throws in the middle of nowhere', async () => {
  setTimeout(() => {
    throw new Error('nobody catches this');
  });
  await new Promise((resolve) => setTimeout(resolve));
});
