/** Attachments (contract §8): how they are written and read, their stubs, and what becomes of their content. */
import { describe } from 'vitest';
import { ofLocal, overTime, replicated, stubs } from './attachments-kept';
import { oneByOne, read, streams } from './attachments-read';
import { written } from './attachments-written';
import type { Context } from './context';

export function attachmentsConformance(context: Context): void {
  describe('written', () => written(context));
  describe('read', () => read(context));
  describe('one by one', () => oneByOne(context));
  describe('as streams', () => streams(context));
  describe('stubs', () => stubs(context));
  describe('replicated', () => replicated(context));
  describe('over time', () => overTime(context));
  describe('of _local documents', () => ofLocal(context));
}
