/**
 * Many small documents that refer to few: posts and their authors. Looked up by index, counted, and joined: a page of posts with their
 * authors' documents is one query of a view whose values name the linked documents (`_id` in the value, `include_docs`).
 */
import { withOneOpen } from './stays';
import type { RoundSetting, SuiteContender } from './suite';

export interface User {
  readonly _id: string;
  readonly type: 'user';
  readonly name: string;
  readonly email: string;
}
export interface Post {
  readonly _id: string;
  readonly type: 'post';
  readonly author: string;
  readonly title: string;
  readonly created: number;
  readonly text: string;
}

/** Numbers are how many documents, or rows with documents, were read. */
export interface Linked {
  bulk(docs: readonly (User | Post)[]): Promise<unknown>;
  /** From here on posts are indexed by author and by date, and the indexes are ready. */
  index(): Promise<unknown>;
  get(id: string): Promise<unknown>;
  postsOf(author: string): Promise<number>;
  countOf(author: string): Promise<number>;
  countAll(): Promise<number>;
  /** Posts from a date on, each with its author's document. */
  joined(from: number, limit: number): Promise<number>;
  destroy(): Promise<unknown>;
}

export interface LinkedContender {
  readonly name: string;
  /** One in how many of the documents it gets: a contender that would take too long gets fewer, and its name says so. */
  readonly part?: number;
  open(name: string): Promise<Linked>;
}

const POSTS_OF_A_USER = 50;
/** Documents of one `bulk`. */
const BATCH = 5_000;
const LOOKUPS = 200;
const GETS = 1_000;
const COUNTS = 20;
const PAGE = 20;
/** Of the documents, in the warm-up round. */
const WARM_UP = 50;
const PER = 10_000;

export const linkedUnits: Record<string, string> = {
  fill: `${PER} documents, ${BATCH} at a time; the mean of all`,
  index: `two indexes of ${PER} documents; the mean of all`,
  'user by id': `${GETS} users, awaited one by one`,
  'posts of a user': `${LOOKUPS} × ${POSTS_OF_A_USER} documents by index`,
  'count of a user': `${LOOKUPS} × by index`,
  'count all': `${COUNTS} × all posts`,
  'posts with authors': `${LOOKUPS} × ${PAGE} posts by date, each with its author's document`,
  'edit and look': `${COUNTS} × a post written, then all posts of its author`,
};

export const linkedContender = ({ name, part = 1, open }: LinkedContender): SuiteContender =>
  withOneOpen(
    {
      name,
      round: async (time, setting) => {
        const wanted = setting.documents / part / (setting.warmUp ? WARM_UP : 1);
        const users = Math.max(1, Math.ceil(wanted / POSTS_OF_A_USER));
        const posts = users * POSTS_OF_A_USER;
        const db = await open(setting.database);
        await fill(db, users, posts, setting);
        const per = PER / (users + posts);
        setting.record('index', per * (await timed(() => db.index())));
        const author = (i: number): string => userId((i * 7919) % users);
        await time('user by id', () => times(GETS, (i) => db.get(author(i))));
        await time('posts of a user', () =>
          times(LOOKUPS, async (i) => expect(await db.postsOf(author(i)), POSTS_OF_A_USER)),
        );
        await time('count of a user', () =>
          times(LOOKUPS, async (i) => expect(await db.countOf(author(i)), POSTS_OF_A_USER)),
        );
        await time('count all', () => times(COUNTS, async () => expect(await db.countAll(), posts)));
        await time('posts with authors', () =>
          times(LOOKUPS, async (i) => expect(await db.joined((i * 7919) % (posts - PAGE), PAGE), PAGE)),
        );
        await time('edit and look', () =>
          times(COUNTS, async (i) => {
            await db.bulk([postOf(posts + i, (i * 7919) % users)]);
            // Where there are few users, one is asked for again.
            const before = Math.floor(i / users);
            expect(await db.postsOf(author(i)), POSTS_OF_A_USER + before + 1);
          }),
        );
        await db.destroy();
      },
    },
    open,
  );

async function fill(db: Linked, users: number, posts: number, { record }: RoundSetting): Promise<void> {
  let ms = 0;
  const all = users + posts;
  for (let begun = 0; begun < all; begun += BATCH) {
    const docs = Array.from({ length: Math.min(BATCH, all - begun) }, (_, i) => {
      const at = begun + i;
      return at < users ? userOf(at) : postOf(at - users, (at - users) % users);
    });
    ms += await timed(() => db.bulk(docs));
  }
  record('fill', (PER / all) * ms);
}

const userId = (i: number): string => `user-${String(i).padStart(6, '0')}`;

const userOf = (i: number): User => ({
  _id: userId(i),
  type: 'user',
  name: `Person ${i}`,
  email: `person${i}@example.com`,
});

const postOf = (i: number, author: number): Post => ({
  _id: `post-${String(i).padStart(7, '0')}`,
  type: 'post',
  author: userId(author),
  title: `Post number ${i}`,
  created: i,
  text: 'settle offline first document database browser worker tab commit segment journal replica',
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function times(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i++) await work(i);
}

function expect(found: number, expected: number): void {
  if (found !== expected) throw new Error(`${found} found in place of ${expected}`);
}
