/** Posts and authors in settledb and PouchDB, whose calls are the same, and in better-sqlite3. */
import Database from 'better-sqlite3';
import type { Linked, LinkedContender, Post, User } from '../linked-cases';

// biome-ignore lint/suspicious/noExplicitAny: PouchDB ships no types, and settledb answers to the same calls
type Queried = any;

const DDOC = {
  _id: '_design/posts',
  views: {
    author: {
      map: "function (doc) { if (doc.type === 'post') emit(doc.author, null); }",
      reduce: '_count',
    },
    date: {
      map: "function (doc) { if (doc.type === 'post') emit(doc.created, { _id: doc.author, title: doc.title }); }",
    },
  },
};

interface Row {
  readonly value: { readonly title: string };
  readonly doc: User | null;
}

export const linkedViews = (
  name: string,
  open: (database: string) => Queried,
  part?: number,
): LinkedContender => ({
  name,
  ...(part === undefined ? {} : { part }),
  open: async (database): Promise<Linked> => {
    const db = open(database);
    await db.info();
    const count = async (options: object): Promise<number> =>
      (await db.query('posts/author', options)).rows[0].value;
    return {
      bulk: (docs) => db.bulkDocs(docs),
      index: async () => {
        await db.put(DDOC);
        await db.query('posts/author', { limit: 0 });
        await db.query('posts/date', { limit: 0 });
      },
      get: (id) => db.get(id),
      postsOf: async (key) =>
        (await db.query('posts/author', { key, reduce: false, include_docs: true })).rows.length,
      countOf: (key) => count({ key }),
      countAll: () => count({}),
      joined: async (startkey, limit) => {
        const { rows } = await db.query('posts/date', { startkey, limit, include_docs: true });
        return (rows as Row[]).filter(({ value, doc }) => value.title !== '' && doc?.type === 'user').length;
      },
      destroy: () => db.destroy(),
    };
  },
});

export const linkedSqlite = (
  name: string,
  pathOf: (database: string) => string,
  remove: (path: string) => void,
): LinkedContender => ({
  name,
  open: async (database): Promise<Linked> => {
    const path = pathOf(`${database}.sqlite`);
    const db = new Database(path);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.exec('CREATE TABLE users (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID');
    db.exec('CREATE TABLE posts (id TEXT PRIMARY KEY, author TEXT, created INTEGER, body TEXT NOT NULL)');
    const putUser = db.prepare('INSERT INTO users VALUES (?, ?)');
    const putPost = db.prepare('INSERT INTO posts VALUES (?, ?, ?, ?)');
    const user = db.prepare('SELECT body FROM users WHERE id = ?').pluck();
    const posts = db.prepare('SELECT body FROM posts WHERE author = ?').pluck();
    const count = db.prepare('SELECT count(*) FROM posts WHERE author = ?').pluck();
    const countAll = db.prepare('SELECT count(*) FROM posts').pluck();
    const joined = db.prepare(
      "SELECT json_extract(posts.body, '$.title') AS title, users.body AS author FROM posts JOIN users ON users.id = posts.author WHERE created >= ? ORDER BY created LIMIT ?",
    );
    const putAll = db.transaction((docs: readonly (User | Post)[]) => {
      for (const doc of docs) {
        const body = JSON.stringify(doc);
        if (doc.type === 'user') putUser.run(doc._id, body);
        else putPost.run(doc._id, doc.author, doc.created, body);
      }
    });
    const parsed = (bodies: unknown[]): unknown[] => bodies.map((body) => JSON.parse(body as string));
    return {
      bulk: async (docs) => putAll(docs),
      index: async () => {
        db.exec('CREATE INDEX by_author ON posts (author)');
        db.exec('CREATE INDEX by_date ON posts (created)');
      },
      get: async (id) => JSON.parse(user.get(id) as string),
      postsOf: async (author) => parsed(posts.all(author)).length,
      countOf: async (author) => count.get(author) as number,
      countAll: async () => countAll.get() as number,
      joined: async (from, limit) => {
        const rows = joined.all(from, limit) as { author: string }[];
        return parsed(rows.map(({ author }) => author)).length;
      },
      destroy: async () => {
        db.close();
        remove(path);
      },
    };
  },
});
