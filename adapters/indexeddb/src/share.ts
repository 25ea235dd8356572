/** What a large commit keeps back: it comes in the commit's own transaction, as there may be no room for it after the commit. */
import { isFull } from './failure';
import type { PutRecords, Reserve } from './reserve';

export class Share {
  readonly #reserve: Reserve;
  readonly #records: number;
  #isTried = false;

  constructor(reserve: Reserve, records: number) {
    this.#reserve = reserve;
    this.#records = records;
  }

  /**
   * Does the commit, the first time together with its share. If there is no room for both, as much is kept back as there is room for,
   * and the commit tried alone.
   *
   * @param commit answers `undefined` if it was done
   */
  async with<Answer>(commit: (put?: PutRecords) => Promise<Answer | undefined>): Promise<Answer | undefined> {
    if (this.#isTried) return commit();
    this.#isTried = true;
    try {
      const answer = await commit((work, done) => this.#reserve.putWith(work, this.#records, done));
      if (answer === undefined) this.#reserve.saw(this.#records);
      return answer;
    } catch (failure) {
      if (!isFull(failure)) throw failure;
    }
    await this.#reserve.keepRecords(this.#records);
    return commit();
  }
}
