/** Run as a process of its own by lock.test.ts: opens a database and says what came of it; holds it until its stdin ends or it is killed. */
import { file } from '@settledb/adapter-file';

const [, , folder = '', mode = 'hold'] = process.argv;
try {
  const journal = await file().open(folder);
  console.log(`open ${process.pid}`);
  if (mode === 'hold') await new Promise((resolve) => setTimeout(resolve, 60_000));
  else await journal.close();
} catch (error) {
  const { name, reason } = error as { name: string; reason: string };
  console.log(`${name} ${reason}`);
}
