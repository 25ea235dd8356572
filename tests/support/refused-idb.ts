/** IndexedDB as WebKit (2.50) has it when its storage process has ended, played where it runs elsewhere. */
import { vi } from 'vitest';

export type Realm = Window & typeof globalThis;

/** Says it of every opening and deletion there. */
export function refuse({ IDBFactory }: Realm): void {
  const lost = (): never => {
    throw new DOMException('Connection to Indexed Database server lost. Refresh the page', 'UnknownError');
  };
  vi.spyOn(IDBFactory.prototype, 'open').mockImplementation(lost);
  vi.spyOn(IDBFactory.prototype, 'deleteDatabase').mockImplementation(lost);
}
