import { expect, it } from '@jest/globals';
import { ReservationReader, stateMessages } from '../../../../../src/mount/state/state-messages.ts';
import { limit } from '../../../../support/state-store-contract.ts';

const limits = [
  limit('requests_per_minute', 10),
  { ...limit('tokens_per_day', 100), key: 'k', hard: true as const },
];
const charge = { requests: 1, tokens: 2, nano_usd: 3 };

it.each([
  [{ force: true }, undefined],
  [{ force: false }, undefined],
  [{ force: false }, { tokens: 20, nano_usd: 30 }],
])('reads the reservation that was written: %j, %j', (more, ceiling) => {
  const request = {
    id: 'r1',
    account: 'acme',
    limits,
    charge: { ...charge, ...(ceiling && { ceiling }) },
    ...more,
  };
  const read = new ReservationReader().read(stateMessages.reservation(request));
  expect(read).toEqual({ ...request, charge: { ...charge, ceiling } });
});

it('gives the same limits as the same list, of a thousand lists at most', () => {
  const reader = new ReservationReader();
  const read = (max: number) =>
    reader.read(
      stateMessages.reservation({ id: 'r', account: 'a', limits: [limit('tokens_per_day', max)], charge }),
    ).limits;
  const first = read(0);
  for (let max = 1; max < 1000; max++) read(max);
  expect(read(0)).toBe(first);
  read(1000);
  expect(read(0)).not.toBe(first);
});

it('reads the answer, the settlement and the statuses that were written', () => {
  const answer = { refused_by: 1, statuses: [[5, 1000]] as const, retry_ms: 7 };
  expect(stateMessages.readAnswer(stateMessages.answer(answer))).toEqual(answer);
  expect(stateMessages.readSettlement(stateMessages.settlement(['r1', charge]))).toEqual(['r1', charge]);
  expect(stateMessages.rows([{ limit: limits[0]!, remaining: 5, reset_ms: 1000 }])).toEqual([[5, 1000]]);
});
