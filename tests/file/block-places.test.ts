/** Where blocks lie: as in a map, whatever was noted of them before. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BlockPlaces } from '../../packages/log/src/block-places';
import type { Place } from '../../packages/log/src/contents';

const id = fc.oneof(fc.integer({ min: -20, max: 20 }), fc.constantFrom(-(2 ** 52), 2 ** 53 - 4096));
const place = fc.record<Place>({
  offset: fc.nat(2 ** 31).map((offset) => offset * 2 ** 20),
  bytes: fc.integer({ min: 1, max: 2 ** 31 }),
  isTail: fc.boolean(),
});
const steps = fc.array(
  fc.oneof(
    fc.record({ set: id, place }),
    fc.record({ drop: id }),
    fc.record({ get: id }),
    fc.record({ noted: fc.constant(true) }),
  ),
);

it('is what a map would hold, noted in between or not', () => {
  fc.assert(
    fc.property(steps, (steps) => {
      let places = new BlockPlaces();
      const model = new Map<number, Place>();
      for (const step of steps) {
        if ('set' in step) {
          places.set(step.set, step.place);
          model.set(step.set, step.place);
        } else if ('drop' in step) {
          places.delete(step.drop);
          model.delete(step.drop);
        } else if ('get' in step) expect(places.get(step.get)).toEqual(model.get(step.get));
        else places = new BlockPlaces(places.encode());
      }
      for (const each of [places, new BlockPlaces(places.encode())]) {
        expect(new Map(each)).toEqual(model);
        expect([...each].map(([id]) => id).sort()).toEqual([...model.keys()].sort());
      }
    }),
  );
});

it('keeps what was noted at a place: the sums of a block', () => {
  const noted = new BlockPlaces();
  noted.set(3, { offset: 44, bytes: 100, isTail: false });
  const places = new BlockPlaces(noted.encode());
  const sums = { running: new Uint32Array(1), piece: 1024, isWide: false, end: 100 };
  places.get(3)!.sums = sums;
  expect(places.get(3)!.sums).toBe(sums);
});
