/** The conformance suites for views and Mango, over HTTP against our own server. */
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { type MangoDatabase, mangoConformance } from '../conformance/mango';
import { viewsConformance } from '../conformance/views';
import { ORIGIN, testServer } from './support';

const { fetch } = testServer({ runStoredFunctions: true });

viewsConformance(
  'views over http',
  (name, options) => new SettleDB(`${ORIGIN}/${name}`, { fetch, ...options }),
  {
    local: false,
    temporaryViews: false,
    viewEvents: false,
    uncheckedDesigns: false,
  },
);

mangoConformance('mango over http', (name) => new SettleDB(`${ORIGIN}/${name}`, { fetch }) as MangoDatabase, {
  fallsBack: true,
});
