/**
 * An option in place of `attachments`, for callers that send documents on and read large attachments as streams: a document comes with
 * the data of its attachments if they are small together, and else with stubs. From other databases than local ones, all are stubs.
 */
export const SMALL_DATA = Symbol.for('settledb.smallData');

export interface SmallData {
  readonly [SMALL_DATA]?: boolean | undefined;
}
