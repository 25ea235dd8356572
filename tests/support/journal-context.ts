/** A further context for tests in a browser: a dedicated worker that has a journal over IndexedDB open (journal-worker.ts). */
import { onTestFinished } from 'vitest';
import type { JournalCalls } from './journal-worker';

type Reply = { readonly id: number; readonly value?: unknown; readonly error?: unknown };

export class JournalContext {
  readonly #worker = new Worker(new URL('./journal-worker.ts', import.meta.url), { type: 'module' });
  readonly #waiting = new Map<number, PromiseWithResolvers>();
  readonly #events: string[] = [];
  readonly #watchers = new Set<() => void>();
  #serial = 0;

  /** Opens `name` in a new worker, which ends with the test. */
  static async open(name: string): Promise<JournalContext> {
    const context = new JournalContext();
    onTestFinished(() => context.kill());
    await context.call('open', name);
    return context;
  }

  private constructor() {
    this.#worker.addEventListener('message', ({ data }: MessageEvent<Reply | { event: string }>) => {
      if ('event' in data) {
        this.#events.push(data.event);
        for (const watch of [...this.#watchers]) watch();
        return;
      }
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ('error' in data) waiting?.reject(data.error);
      else waiting?.resolve(data.value);
    });
  }

  call<Name extends keyof JournalCalls>(
    name: Name,
    ...args: Parameters<JournalCalls[Name]>
  ): ReturnType<JournalCalls[Name]> {
    const id = this.#serial++;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#worker.postMessage({ id, call: name, args });
    return answer as ReturnType<JournalCalls[Name]>;
  }

  /** Resolves when its journal has told of `event` since the context began (or since `forget`). */
  heard(event: string): Promise<void> {
    return new Promise((resolve) => {
      const watch = (): void => {
        if (!this.#events.includes(event)) return;
        this.#watchers.delete(watch);
        resolve();
      };
      this.#watchers.add(watch);
      watch();
    });
  }

  forget(): void {
    this.#events.length = 0;
  }

  /** As a crash: no farewell. */
  kill(): void {
    this.#worker.terminate();
  }
}

interface PromiseWithResolvers {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}
