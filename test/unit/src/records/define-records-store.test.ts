import { describe, expect, it } from '@jest/globals';
import { memoryPlace } from '../../../../plugins/stores/records/index.ts';
import { openPlace } from '../../../../src/records/define-records-store.ts';
import type { RecordsStore } from '../../../../src/records/records-store.ts';

describe('a records store that does not open', () => {
  it('is given up after its time, and closed if it opens later', async () => {
    const { promise, resolve } = Promise.withResolvers<RecordsStore>();
    const place = { ...memoryPlace, open: () => promise };
    await expect(openPlace(place, undefined, 20)).rejects.toThrow('it did not open within 20 ms');
    const store = await memoryPlace.open();
    const closed = new Promise<void>(done => {
      resolve({
        ...store,
        close: async () => {
          await store.close();
          done();
        },
      });
    });
    await closed;
  });
});
