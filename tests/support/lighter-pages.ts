/**
 * How vite serves tests to a browser, with less to do for both. Each file of tests has a page of its own, and so asked for its 200 modules
 * anew; so did each worker that such a page starts, one by one, which took a second of both sides.
 */
import { join } from 'node:path';
import type { Plugin } from 'vite';
import { bundle, forgetBundles } from './page-bundle.ts';

/** What vite writes behind the names of workers' files. */
const WORKER = /^\/(tests\/[^?]+)\?.*\bworker_file\b/;
/** Imports what vite serves: files of tests, and vitest itself. */
const UNBUNDLED = 'tests/support/in-worker-script.ts';
/**
 * Modules do not change while tests run once; whoever watches them wants each change. The browser's profile is thrown away afterwards. A
 * module that is kept cannot be replaced by `vi.mock` in one file.
 */
const KEPT = process.argv.includes('run') ? { 'Cache-Control': 'max-age=3600' } : {};

/** For a project of vitest that runs in a browser. */
export function lighterPages(): Plugin {
  return {
    name: 'lighter-pages',
    config: () => ({ server: { headers: KEPT } }),
    configureServer({ config, middlewares, watcher }) {
      watcher.on('all', forgetBundles);
      middlewares.use((request, response, next) => {
        const [, file] = WORKER.exec(request.url ?? '') ?? [];
        if (file === undefined || file === UNBUNDLED) return next();
        bundle(join(config.root, file)).then((text) => {
          response.setHeader('Content-Type', 'text/javascript; charset=utf-8');
          response.end(text);
        }, next);
      });
    },
  };
}
