/** express-pouchdb on a folder: `node pouchdb-server.mjs FOLDER` prints its URL. */
import express from 'express';
import expressPouchDB from 'express-pouchdb';
import PouchDB from 'pouchdb';

const [, , folder = ''] = process.argv;
const app = express();
const Served = PouchDB.defaults({ prefix: `${folder}/` });
// Its log and its configuration are files of the current folder, if it is let.
app.use(
  '/',
  expressPouchDB(Served, {
    inMemoryConfig: true,
    mode: 'minimumForPouchDB',
    overrideMode: { include: ['routes/find'] },
  }),
);
const server = app.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.once('SIGTERM', () => process.exit(0));
