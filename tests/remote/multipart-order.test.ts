/** The order in which a document's text names its attachments. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { attachmentOrder } from '../../packages/remote/src/multipart-order';

it('is that of the text, whatever else stands in it', () => {
  expect(attachmentOrder('{"_attachments":{"b":{"x":{"y":[1]}},"1":{},"a":{}},"c":{"d":1}}')).toEqual([
    'b',
    '1',
    'a',
  ]);
  expect(attachmentOrder('{"_attachments":{"a":{}},"_attachments":{"b":{}}}')).toEqual(['b']);
  expect(attachmentOrder('{"a":{"_attachments":{"b":{}}},"_attachments":null}')).toEqual([]);
  expect(attachmentOrder(String.raw`{"_att\u0061chments":{"\\\"}{:":{},"\\":{}}}`)).toEqual(['\\"}{:', '\\']);
});

it('is found for names and values of any text', () => {
  const text = fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', ':', '[', ',', 'a', '\n', 'é') });
  // Digits would be sorted by JSON.stringify itself.
  const names = fc.uniqueArray(text.map((name) => `n${name}`));
  fc.assert(
    fc.property(names, text, fc.jsonValue(), (names, value, more) => {
      const _attachments = Object.fromEntries(names.map((name) => [name, { content_type: value, more }]));
      expect(attachmentOrder(JSON.stringify({ [`x${value}`]: more, _attachments, z: value }))).toEqual(names);
    }),
  );
});

it('is found in texts as large as a request may be', () => {
  const attachments = '"_attachments":{"b":{},"a":{}}';
  const plain = 'x'.repeat(16 * 1024 * 1024);
  expect(attachmentOrder(`{"x":"${plain}",${attachments}}`)).toEqual(['b', 'a']);
  expect(attachmentOrder(`{"x":"${'\\"'.repeat(4 * 1024 * 1024)}",${attachments}}`)).toEqual(['b', 'a']);
  const nested = 4 * 1024 * 1024;
  expect(attachmentOrder(`{"x":${'['.repeat(nested)}${']'.repeat(nested)},${attachments}}`)).toEqual([
    'b',
    'a',
  ]);
});
