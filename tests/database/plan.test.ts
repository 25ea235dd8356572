/** The plan of a write, by itself: its work grows with the edits, not with their square. */
import { describe, expect, it } from 'vitest';
import { AttachmentSet } from '../../packages/core/src/database/attachment-set';
import { DocFold } from '../../packages/core/src/database/doc-fold';
import { batchOf } from '../../packages/core/src/database/edit-batch';
import { type NewEdit, type ReplicatedEdit, toEdit } from '../../packages/core/src/database/edits';
import { type Outcome, planEdits } from '../../packages/core/src/database/plan-edits';
import { finishDocuments } from '../../packages/core/src/database/plan-rows';
import { stepsOf } from '../support/steps';

const RULES = { revsLimit: 1000, autoCompaction: false };
const OPTIONS = { newEdits: true, force: false, deterministic: true };
const COUNT = 500;
const ids = Array.from({ length: COUNT }, (_, n) => `doc${n}`);
const info = {
  name: 'info' as const,
  uuid: 'u',
  update_seq: 0,
  doc_count: 0,
  doc_del_count: 0,
  purge_seq: 0,
};

describe('a plan of many edits', () => {
  it('in which each document occurs twice looks for no first edit', () => {
    const batch = batchOf([...ids, ...ids].map((_id) => toEdit({ _id }, OPTIONS)));
    const found = { info, docs: [], bodies: undefined, locals: [], attachments: undefined };
    let outcomes: readonly Outcome[] = [];
    const steps = stepsOf(() => {
      ({ outcomes } = planEdits(batch, found, RULES).value);
    });
    expect(outcomes.map((each) => 'ok' in each)).toEqual([...ids.map(() => true), ...ids.map(() => false)]);
    expect(steps).toBeLessThan(20 * COUNT);
  });

  it('with attachments walks through no references again', () => {
    const folds = ids.map((id) => {
      const resolved = { body: '{}', blobs: [`blob of ${id}`] };
      const attacher = {
        resolveNew: (edit: NewEdit) => ({ ...edit, ...resolved }),
        resolveReplicated: (edit: ReplicatedEdit) => ({ ...edit, ...resolved }),
      };
      const fold = new DocFold(id, undefined, undefined, RULES, attacher);
      fold.edit({ ...(toEdit({ _id: id }, OPTIONS) as NewEdit), attachments: new AttachmentSet(id, []) }, 1);
      return fold;
    });
    let refs: readonly { readonly id: string }[] = [];
    const steps = stepsOf(() => {
      ({ refs } = finishDocuments(ids, folds, { docs: [], info }, COUNT));
    });
    expect(refs.map(({ id }) => id)).toEqual(ids);
    expect(steps).toBeLessThan(10 * COUNT);
  });
});
