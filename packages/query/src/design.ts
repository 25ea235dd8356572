/** Design documents by their ids: `_design/` and a name. */

const PREFIX = '_design/';

/** All of them. */
export const DESIGN_IDS = { gte: PREFIX, lt: '_design0' } as const;

/** @param name with the prefix or without */
export const designId = (name: string): string => (name.startsWith(PREFIX) ? name : PREFIX + name);

/** What an index of a design document is called in messages. */
export const indexName = (ddoc: string, name: string): string => `${ddoc.slice(PREFIX.length)}/${name}`;
