/** JSON of recordings, in whatever form CouchDB gave it. */

// biome-ignore lint/suspicious/noExplicitAny: recorded JSON of any form
export type Any = any;
