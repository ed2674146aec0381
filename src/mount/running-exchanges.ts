import type { Exchange } from '../gateway/exchange/exchange.ts';
import type { RunningExchange, RunningExchanges, RunningPlace } from '../records/running-exchange.ts';
import type { OtherProcesses } from './server-status.ts';

/** The longest that a question waits for a worker. */
const answer_ms = 1000;
/** Characters of a name that a client made up. */
const max_name = 300;

/** The exchanges that run in this process, as `own` has them, and in its workers. A worker answers its primary from now on. */
export function runningExchanges(
  own: () => readonly Exchange[],
  { primary, workers }: OtherProcesses,
): RunningExchanges {
  const listOwn = (limit: number) => oldest(own().map(running), limit);
  const cancelOwn = ({ request_id, started_ms }: RunningPlace): boolean => {
    const meant = own().filter(one => one.id === request_id && one.started_epoch_ms === started_ms);
    for (const exchange of meant) {
      // Libraries repeat what was answered 502.
      exchange.replyHeaders['x-should-retry'] = 'false';
      exchange.abort('cancelled');
    }
    return meant.length > 0;
  };
  primary
    ?.handle('exchanges.list', limit => listOwn(limit as number))
    .handle('exchanges.cancel', place => cancelOwn(place as RunningPlace));
  const ask = async (name: string, payload: unknown) =>
    ((await workers?.ask(name, answer_ms, payload)) ?? []).map(({ value }) => value);
  return {
    list: async limit => {
      const others = (await ask('exchanges.list', limit)) as RunningExchange[][];
      return oldest([...listOwn(limit), ...others.flat()], limit);
    },
    cancel: async place => [cancelOwn(place), ...(await ask('exchanges.cancel', place))].includes(true),
  };
}

const oldest = (all: readonly RunningExchange[], limit: number): readonly RunningExchange[] =>
  all.toSorted((one, other) => one.started_ms - other.started_ms).slice(0, limit);

const running = (exchange: Exchange): RunningExchange => ({
  request_id: exchange.id,
  started_ms: exchange.started_epoch_ms,
  endpoint: exchange.endpoint.name,
  account: exchange.account?.id,
  key_id: exchange.account?.key_id,
  model: exchange.model?.id ?? exchange.requested_model?.slice(0, max_name),
  provider: exchange.provider,
  attempts: exchange.attempts.length,
  stream: exchange.hasRequest ? exchange.request.stream : undefined,
  completion_tokens: exchange.usage.completion_tokens,
  end_reason: exchange.end_reason,
});
