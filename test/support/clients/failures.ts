import { describe, expect, it } from '@jest/globals';
import { clientKey } from '../gateway-under-test.ts';
import type { Client, Wish } from './client.ts';
import type { ClientHouse } from './house.ts';

const refusals: readonly {
  name: string;
  question?: string;
  key?: string;
  wish?: Wish;
  status: number;
  says: RegExp;
}[] = [
  {
    name: 'an unknown model',
    wish: { model: 'aion-labs/aion-9' },
    status: 400,
    says: /model: unknown model 'aion-labs\/aion-9'/,
  },
  { name: 'an unknown key', key: 'sk-unknown', status: 401, says: /Invalid API key\./ },
  {
    name: 'a failure of the upstream',
    question: 'Hello [[sim:status=503]]',
    status: 502,
    says: /The upstream provider returned an error\./,
  },
  {
    name: 'an upstream that hangs up',
    question: 'Hello [[sim:reset]]',
    status: 502,
    says: /The upstream provider could not be reached\./,
  },
];

const breaks: readonly [string, string, RegExp][] = [
  ['an error event', 'error=4', /The upstream provider returned an error\./],
  ['a reset', 'reset=4', /The upstream provider closed the stream unexpectedly\./],
  ['an end without finish_reason', 'truncate=4', /The upstream provider closed the stream unexpectedly\./],
  ['an event that is not JSON', 'garbage=4', /The upstream provider returned an invalid response\./],
  // Here the answer has begun, so that a client could take it for all there is.
  ['a reset in the answer', 'reset=40 reasoning_tokens=4 tokens=80', /closed the stream unexpectedly\./],
];

/** The tests of what goes wrong: the client raises it, with the gateway's own words, and never has a complete answer. */
export function raisesFailures(house: ClientHouse): void {
  describe.each(refusals)('$name', ({ question = 'Hello', key = clientKey, wish, status, says }) => {
    it.each(['reply', 'stream'] as const)('is raised with status and message (%s)', async way => {
      const error = await thrownBy(house.connect(key)[way](question, wish));
      expect(error.message).toMatch(says);
      expect(error.status ?? error.statusCode).toBe(status);
    });
  });

  describe('a stream that breaks', () => {
    it.each(breaks)('is raised with its message: %s', async (_, fault, says) => {
      const error = await thrownBy(house.client.stream(`Hello [[sim:${fault}]]`));
      expect(error.message).toMatch(says);
    });
  });

  it('connects only to the gateway', async () => {
    const { hosts } = house.network;
    expect([...hosts]).toEqual(['127.0.0.1']);
    // The watch would have seen it.
    await fetch('http://127.0.0.2:59999').catch(() => {});
    expect([...hosts]).toContain('127.0.0.2');
  });
}

type Thrown = Error & { readonly status?: number; readonly statusCode?: number };

async function thrownBy(running: ReturnType<Client['reply']>): Promise<Thrown> {
  try {
    await running;
  } catch (thrown) {
    if (thrown instanceof Error) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}
