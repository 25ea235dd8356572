/** Indexes as `getIndexes` and `explain` show them. */
import type { IndexDescription } from '@settledb/core';
import type { MangoIndex } from './mango-index';

/** Always there: all documents by id. */
export const ALL_DOCS: IndexDescription = {
  ddoc: null,
  name: '_all_docs',
  type: 'special',
  def: { fields: [{ _id: 'asc' }] },
};

export function describe({ ddoc, name, fields, partial }: MangoIndex): IndexDescription {
  return {
    ddoc,
    name,
    type: 'json',
    def: {
      fields: fields.map((field) => ({ [field.name]: field.direction })),
      ...(partial && { partial_filter_selector: partial }),
    },
  };
}
