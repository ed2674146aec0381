import { until } from '../../../support/until.ts';
import { isAnswerOrCut } from '../clients/checks.ts';
import { chat, kind, uniqueText } from '../clients/request.ts';
import type { Deployment } from '../deployment.ts';
import { readMetrics } from '../process-metrics.ts';
import { type Check, check, type Findings, type RunOptions, type Scenario } from '../scenario.ts';

/** How many probes a breaker wants, by default. */
const probes = 3;
/** A provider that hung first takes what had been sent to it before, which is no load of its return. */
const backlog_ms = 250;
/** How many parts of the ramp are looked at, one by one. */
const parts = 5;
const rampOf = ({ seconds }: RunOptions): number => seconds * 400;

const kinds = [{}, { stream: true }].map((body, at) => ({
  ...kind(at === 0 ? 'whole reply' : 'stream', 1, ['completed', 'upstream_failed'], (dice, id) => {
    const answer = uniqueText(dice, id).slice(0, 200);
    const request = chat(`Question ${id} [[sim:reasoning=none say=${answer}]]`, body);
    return { ...request, check: isAnswerOrCut(answer) };
  }),
  good: true as const,
}));

const untilOpen = ({ gateways: [gateway] }: Deployment): Promise<void> =>
  until(async () => (await readMetrics(gateway!.adminUrl)).breakers.p1 === 'open');

/** One of two providers fails under load beside the other, and comes back. */
const failure = (how: 'killed' | 'stopped'): Scenario => ({
  name: how === 'killed' ? 'provider-failure' : 'provider-hang',
  what: `One of two providers is ${how} under load and comes back: failures are covered, and it is not overrun.`,
  servers: {
    providers: 2,
    provider: { ttft_ms: 40, tokens_per_second: 200 },
    config: (config, options) => {
      const breaker = { open_ms: 500, max_open_ms: 1000, ramp_ms: Math.round(rampOf(options)) };
      const limits = how === 'stopped' ? { first_token_timeout_ms: 1000, total_timeout_ms: 2000 } : {};
      const { p1, p2 } = config.providers;
      return {
        ...config,
        providers: { p1: { ...p1, ...limits, breaker }, p2: { ...p2, breaker } },
      } as typeof config;
    },
  },
  clients: [{ count: 24, kinds }],
  steps: [
    {
      after: 0.12,
      what: `the first provider is ${how}`,
      act: ({ providers: [first] }) => (how === 'killed' ? first!.kill() : first!.pause()),
    },
    // A slow machine sends less, so that more time passes until enough has failed.
    { after: 0.13, what: 'its breaker is open', act: untilOpen },
    {
      after: 0,
      what: 'it is back',
      act: ({ providers: [first] }) => (how === 'killed' ? first!.start() : first!.resume()),
    },
  ],
  checks: recovery,
});

export const providerFailures = [failure('killed'), failure('stopped')];

/** The breaker opened, let probes through, closed, and its share of the load grew slowly. */
function recovery({ deployment, samples, steps_ms }: Findings, options: RunOptions): Check[] {
  const [died_ms = 0, , back_ms = 0] = steps_ms;
  const opened_ms = samples.find(({ at_ms, breakers }) => at_ms > died_ms && breakers.p1 === 'open')?.at_ms;
  const closed_ms = samples.find(({ at_ms, breakers }) => at_ms > back_ms && breakers.p1 === 'closed')?.at_ms;
  const end_ms = Number.POSITIVE_INFINITY;
  const share = (from_ms: number, to_ms: number): number => {
    const [first = 0, second = 0] = deployment.providers.map(
      ({ calls_at_ms }) => calls_at_ms.filter(at_ms => at_ms >= from_ms && at_ms < to_ms).length,
    );
    return first / Math.max(1, first + second);
  };
  if (opened_ms === undefined || closed_ms === undefined)
    return [check('the breaker opens and closes', false, `opened ${opened_ms}, closed ${closed_ms}`)];
  const part_ms = rampOf(options) / parts;
  const ramp = Array.from({ length: parts }, (_, at) =>
    share(closed_ms + at * part_ms, closed_ms + (at + 1) * part_ms),
  );
  const last = share(closed_ms + rampOf(options), end_ms);
  const early = deployment.providers[0]!.calls_at_ms.filter(
    at_ms => at_ms > back_ms + backlog_ms && at_ms < closed_ms,
  ).length;
  const seen = samples.findIndex(({ at_ms }) => at_ms === closed_ms);
  const sampled_ms = Math.max(
    ...[seen, seen - 1, samples.length - 1].map(at => samples[at]!.at_ms - samples[at - 1]!.at_ms),
  );
  const rate = deployment.providers[1]!.calls_at_ms.length / options.seconds;
  // The breaker is seen closed at most two samples late, which a busy machine takes at longer intervals, as it does the backlog.
  const spare = Math.ceil(((2 * sampled_ms) / 1000) * rate * 0.2) + samples.at(-1)!.failovers;
  const percent = (value: number) => `${(100 * value).toFixed(0)} %`;
  return [
    check(
      'the breaker opens and closes',
      true,
      `${(opened_ms - died_ms).toFixed(0)} ms after the failure, ${(closed_ms - back_ms).toFixed(0)} ms after the return`,
    ),
    check('failures are covered', samples.at(-1)!.failovers > 0, `${samples.at(-1)!.failovers} failovers`),
    check('until then only probes come', early <= probes + spare, `${early} requests`),
    check('then a few', ramp[0]! <= 0.4, ramp.map(percent).join(', ')),
    check('in the end about its share', last >= 0.2, percent(last)),
  ];
}
