import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { InFlightSet, type Place } from '../../../../src/exchange/in-flight-set.ts';

describe('the set of exchanges in flight', () => {
  it('contains what was added and not removed, in any order of changes', () => {
    const step = fc.record({ adds: fc.boolean(), which: fc.nat(1000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), steps => {
        const underWay = new InFlightSet<number>();
        const expected = new Set<number>();
        const places: Place<number>[] = [];
        for (const [item, { adds, which }] of steps.entries()) {
          if (adds || places.length === 0) {
            places.push(underWay.add(item));
            expected.add(item);
          } else {
            // Also one that has been removed before.
            const place = places[which % places.length]!;
            underWay.remove(place);
            expected.delete(place.item);
          }
          expect(underWay.size).toBe(expected.size);
        }
        expect(new Set(underWay.items())).toEqual(expected);
        expect(underWay.items()).toHaveLength(expected.size);
      }),
    );
  });
});
