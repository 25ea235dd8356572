/** Programs of tests that run in pages and in their workers, over the sources, as one file each. */
import { build } from 'esbuild';

/** Of this process: many pages and workers have the same program. */
const bundled = new Map<string, Promise<string>>();

export function bundle(entry: string | URL): Promise<string> {
  const path = entry instanceof URL ? entry.pathname : entry;
  const made = bundled.get(path) ?? make(path);
  bundled.set(path, made);
  return made;
}

/** After a file was changed, programs are made anew. */
export function forgetBundles(): void {
  bundled.clear();
}

async function make(path: string): Promise<string> {
  const result = await build({
    entryPoints: [path],
    bundle: true,
    write: false,
    format: 'esm',
    // One file: without this esbuild 0.28 leaves out the set-up of modules that are both imported and loaded later.
    ignoreAnnotations: true,
    platform: 'browser',
    target: 'es2022',
    // Every page, and every worker of one, reads all of it: no map of the sources, which is three times as long as the program.
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: 'silent',
  });
  return result.outputFiles[0]!.text;
}
