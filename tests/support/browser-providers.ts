/** Browsers that vitest does not know, as providers of its browser mode: each opens the page it is told to, and no more. */
import { defineBrowserProvider } from '@vitest/browser';
import { Firefox } from './firefox';
import { WebKit } from './webkit';

interface Browser {
  open(url: string): Promise<void>;
  close(): Promise<void>;
}

const provider = (name: string, start: () => Promise<Browser>) =>
  defineBrowserProvider({
    name,
    providerFactory: () => {
      let browser: Promise<Browser> | undefined;
      return {
        name,
        supportsParallelism: false,
        getCommandsContext: () => ({}),
        openPage: async (_session: string, url: string) => {
          browser ??= start();
          await (await browser).open(url);
        },
        close: async () => {
          await (await browser?.catch(() => undefined))?.close();
        },
      };
    },
  });

export const firefoxProvider = (path: string) => provider('firefox', () => Firefox.start(path));
export const webkitProvider = () => provider('webkit', () => WebKit.start());
