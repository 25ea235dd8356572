/** A worker that says which events of its page's being put away it hears; it refuses the first, if it is called so. */
import { host } from '../../packages/settledb/src/worker';

host();
for (const type of ['pagehide', 'pageshow']) {
  addEventListener(type, (event) => {
    postMessage({ heard: type, persisted: (event as PageTransitionEvent).persisted });
    if (type === 'pagehide' && self.name === 'refuses') event.preventDefault();
  });
}
