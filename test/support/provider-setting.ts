import { expect } from '@jest/globals';
import type { Outcome } from '../../src/plugin.ts';
import { ledgerOf, newBook } from '../fixtures/stages/ledger.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';
import type { ProviderFixture, ProviderName } from './provider-fixtures.ts';
import { type ScriptedUpstream, startScriptedUpstream, streamed, whole } from './scripted-upstream.ts';
import { ownStages } from './settlement.ts';
import { until } from './until.ts';

/** A gateway in front of a scripted server that speaks one provider's format. */
export interface ProviderSetting {
  readonly upstream: ScriptedUpstream;
  readonly gateway: GatewayUnderTest;
  /** The record of the newest exchange, once there are `count`. */
  settled(count: number): Promise<Outcome>;
  close(): Promise<void>;
}

export async function providerSetting(adapter: ProviderName, options: object = {}): Promise<ProviderSetting> {
  const book = newBook();
  const upstream = await startScriptedUpstream();
  const gateway = await startGateway({
    upstream,
    adapter,
    provider: { ...options },
    stages: ownStages(['ledger', { book }]),
  });
  const entries = ledgerOf(book);
  return {
    upstream,
    gateway,
    async settled(count) {
      await until(() => entries.length >= count);
      expect(entries).toHaveLength(count);
      return entries.at(-1)!.outcome;
    },
    async close() {
      await gateway.close();
      await upstream.close();
    },
  };
}

/** What the server writes to say this. */
export const written = ({ stream, reply }: ProviderFixture, isStreamed: boolean): Buffer =>
  isStreamed ? streamed(stream) : whole(200, reply!);
