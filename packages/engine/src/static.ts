/** `@settledb/engine/static`: for realms that must not load code later. */
import * as rewrite from './checkpoint';
import { rewriteCode } from './rewrite-code';

export const bringRewrite = (): void => rewriteCode.bring(rewrite);
