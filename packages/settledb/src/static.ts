/**
 * `settledb/static`: imported along with `settledb`, brings all the code, much of which is otherwise loaded when first needed. For
 * service workers, where `import()` is forbidden, and for programs in one file.
 */
import * as memory from '@settledb/adapter-memory';
import { bringAll } from '@settledb/core/static';
import * as dump from '@settledb/dump';
import { bringRewrite } from '@settledb/engine/static';
import * as query from '@settledb/query';
import * as remote from '@settledb/remote/client';
import { runCode } from '@settledb/replication';
import * as run from '@settledb/replication/run';
import { dumpCode, memoryCode, queryCode, remoteCode } from './code';

bringAll();
bringRewrite();
dumpCode.bring(dump);
memoryCode.bring(memory);
queryCode.bring(query);
remoteCode.bring(remote);
runCode.bring(run);
