/** Indexes as `getIndexes` and `explain` show them. */
import { copyOf, type IndexDescription } from '@settledb/core';
import type { MangoIndex } from './mango-index';

/** The index that always exists: all documents by id. A new object each time, because the caller may change it. */
export const allDocsIndex = (): IndexDescription => ({
  ddoc: null,
  name: '_all_docs',
  type: 'special',
  def: { fields: [{ _id: 'asc' }] },
});

export function describe({ ddoc, name, fields, partial }: MangoIndex): IndexDescription {
  return {
    ddoc,
    name,
    type: 'json',
    def: {
      fields: fields.map((field) => ({ [field.name]: field.direction })),
      ...(partial && { partial_filter_selector: copyOf(partial) }),
    },
  };
}
