/** Runs a call of the journal: refused when it is over, waited for when it closes. */
export type Run = <Answer>(what: string, call: () => Promise<Answer>) => Promise<Answer>;
