/**
 * A page's {@link Control} of its own worker. comlink makes a proxy for each method that is named and has a `FinalizationRegistry` call back
 * for each that is collected; and a page that anything calls back in the back/forward cache is thrown out of it (Chromium). So each
 * method is named once, and kept.
 */
import { type Remote, releaseProxy, wrap } from 'comlink';
import type { Control } from './wire';

export interface RemoteControl extends Pick<Remote<Control>, keyof Control> {
  /** Ends it; nothing is left that calls back. */
  release(): void;
}

export function controlOver(port: MessagePort): RemoteControl {
  const control = wrap<Control>(port);
  const { attach, suspect } = control;
  const proxies = [control, attach, suspect] as unknown as Record<symbol, () => void>[];
  return {
    attach,
    suspect,
    release() {
      for (const proxy of proxies) proxy[releaseProxy]!();
    },
  };
}
