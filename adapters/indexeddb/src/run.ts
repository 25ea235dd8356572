/** Runs a call of the journal: refused if the journal is over, awaited when it closes. */
export type Run = <Answer>(what: string, call: () => Promise<Answer>) => Promise<Answer>;
