/** `settledb serve`. */
import { createServer } from '../server';
import { checkFolderName } from './open';
import { untilAsked } from './until-asked';

export async function serve(folder: string, options: Readonly<Record<string, unknown>>): Promise<boolean> {
  const {
    port = '5984',
    host,
    admin,
    anonymous = false,
    cors,
  } = options as {
    port?: string;
    host?: string;
    admin?: string;
    anonymous?: boolean;
    cors?: string[];
  };
  checkFolderName(folder);
  const password = process.env.SETTLEDB_PASSWORD;
  if (admin === undefined && !anonymous)
    throw new Error(
      'nobody could use it: give --admin NAME, with the password in SETTLEDB_PASSWORD, or --anonymous',
    );
  if (admin !== undefined && !password)
    throw new Error(`put the password of ${admin} into the environment variable SETTLEDB_PASSWORD`);
  const server = await createServer({
    dir: folder,
    port: portOf(port),
    ...(host !== undefined && { host }),
    ...(admin !== undefined && { admins: { [admin]: password! } }),
    ...(anonymous && { anonymous }),
    ...(cors !== undefined && {
      // Any page can have the origin `null`.
      cors: { origins: cors, credentials: !cors.includes('*') && !cors.includes('null') },
    }),
    runStoredFunctions: options['run-stored-functions'] === true,
  });
  console.log(`${server.url} serves the databases in ${folder}. Ctrl-C stops it.`);
  await new Promise<void>((resolve) => untilAsked(resolve));
  await server.close();
  return true;
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new Error(`--port must be a number up to 65535, not ${text}`);
  return port;
}
