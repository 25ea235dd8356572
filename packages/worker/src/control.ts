/**
 * A page's {@link Control} of its own worker. comlink makes a proxy for each method that is named, and a `FinalizationRegistry` calls
 * back for each that is collected; and Chromium throws a page out of the back/forward cache if anything calls back in it. So each
 * method is named once, and kept.
 */
import { type Remote, releaseProxy, wrap } from 'comlink';
import type { Control } from './wire';

export interface RemoteControl extends Pick<Remote<Control>, keyof Control> {
  /** Ends it; nothing remains that could call back. */
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
