import { portableBytes } from '@settledb/core';
import { expect, it } from 'vitest';
import { holdsRule } from '../support/base64-rule';

it('base64 is decoded exactly when it is some, by what every platform has', () => {
  holdsRule(portableBytes);
  const withoutNative = {
    ...portableBytes,
    fromBase64: (text: string) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0)),
  };
  holdsRule(withoutNative);
  expect.assertions(12_010);
});
