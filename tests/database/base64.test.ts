import { expect, it } from 'vitest';
import { nodeBytes } from '../../packages/settledb/src/bytes.node';
import { holdsRule } from '../support/base64-rule';

it('base64 is decoded exactly when it is some, by Node', () => {
  holdsRule(nodeBytes);
  expect.assertions(6005);
});
