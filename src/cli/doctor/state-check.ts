import { type Finding, finding } from '../../common/finding.ts';
import type { StatePlace } from '../../gateway/limits/define-state-store.ts';
import { ask_ms, noAnswer } from '../ask-server.ts';

const { ok } = finding;

const thing = 'state store';

const how = {
  limit_ms: ask_ms,
  messageOf: (thrown: unknown) => noAnswer(thrown, { protocol: 'redis:' }).message,
};

/** Looks at the server of `stores.state`, if there is one. */
export async function checkState(server: StatePlace | undefined): Promise<readonly Finding[]> {
  if (!server) return [ok(thing, 'memory: limits hold for this process alone')];
  return (await server.examine?.(how)) ?? [];
}
