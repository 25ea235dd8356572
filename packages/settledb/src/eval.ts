/**
 * `settledb/eval`: makes functions of the text in design documents, with the rights of the program. For programs that trust who
 * writes their design documents, and whose Content Security Policy has 'unsafe-eval'.
 *
 * @example
 * import { evaluate } from 'settledb/eval';
 * const db = new SettleDB('notes', { evaluate });
 */
export { type Evaluate, evaluate } from '@settledb/core';
