import { isAnswer } from '../clients/checks.ts';
import { chat, kind } from '../clients/request.ts';
import type { Deployment } from '../deployment.ts';
import { type Check, check, type Findings, type Scenario, type Step } from '../scenario.ts';

/** Said in the documents: every instance follows within this. */
const bound_ms = 1000;

/** Short answers, half of them streams; about 200 of them a second. */
const kinds = [{}, { stream: true }].map((body, at) => ({
  ...kind(at === 0 ? 'whole reply' : 'stream', 1, ['completed'], (_, id) => {
    const answer = `Answer ${id}: rivers bend slowly.`;
    const asked = chat(`Question ${id} [[sim:reasoning=none ttft=20 say=${answer}]]`, body);
    return { ...asked, check: isAnswer(answer) };
  }),
  good: true as const,
}));

const operator = () => ({ actor: 'chaos', at_ms: Date.now() });
const drained = { provider: 'p1', state: 'draining', weight: null, until_ms: null, reason: '' } as const;
const steps: readonly Step[] = [
  {
    after: 0.2,
    what: 'p1 is drained',
    act: ({ records }: Deployment) => records.look(store => store.controls!.set(drained, operator())),
  },
  { after: 0.2, what: 'an instance is restarted', act: ({ gateways: [gateway] }) => gateway!.restart() },
  {
    after: 0.2,
    what: 'p1 is resumed',
    act: ({ records }: Deployment) => records.look(store => store.controls!.clear('p1', operator())),
  },
];

/** A provider is drained under load at two instances with two workers each, and comes back. */
export const providerDrain: Scenario = {
  name: 'provider-drain',
  what: 'One of two providers is drained, at two instances with two workers each: no request fails, and none goes there, also after a restart.',
  servers: {
    gateways: 2,
    providers: 2,
    postgres: true,
    provider: { tokens_per_second: 400 },
    config: config => ({ ...config, server: { ...config.server, workers: 2 } }),
  },
  clients: [{ count: 12, kinds }],
  steps,
  checks({ deployment: { providers }, steps_ms, begun_ms }: Findings): Check[] {
    const [drained_ms = 0, , resumed_ms = 0] = steps_ms;
    const calls = (at: number, from_ms: number, to_ms: number) =>
      providers[at]!.calls_at_ms.filter(at_ms => at_ms >= from_ms && at_ms < to_ms).length;
    const last_ms = Math.max(...providers[0]!.calls_at_ms.filter(at_ms => at_ms < resumed_ms)) - drained_ms;
    const end_ms = Number.POSITIVE_INFINITY;
    const there = calls(0, drained_ms + bound_ms, resumed_ms);
    const elsewhere = calls(1, drained_ms + bound_ms, resumed_ms);
    const rate = (1000 * elsewhere) / (resumed_ms - drained_ms - bound_ms);
    const before = [0, 1].map(at => calls(at, begun_ms, drained_ms));
    const after = [0, 1].map(at => calls(at, resumed_ms + bound_ms, end_ms));
    return [
      check('both were asked before', before.every(Boolean), `${before}`),
      check('nothing goes there a second after', there === 0, `the last one ${last_ms.toFixed(0)} ms after`),
      check('the other one has them', elsewhere > 0, `${elsewhere}, ${rate.toFixed(0)} a second`),
      check('both are asked again', after.every(Boolean), `${after}`),
    ];
  },
};
