import {
  max_memory_characters,
  max_ttl_ms,
  max_value_bytes,
} from '../../../../src/mount/chain/stage-cache.ts';
import { constantIn, mib, minutes, numbersIn, seconds } from '../constants.ts';
import type { Bound } from '../numbers.ts';

const upstream = 'src/gateway/upstream/routing/upstream.ts';
const settle = 'src/gateway/settlement/settle.ts';
const thinking = 'plugins/providers/anthropic/thinking.ts';
const fullest = 'plugins/stages/rate-limit/fullest-limits.ts';
const pace_s = seconds('src/telemetry/throttled-log.ts', 'line_ms');

const failures = 'src/gateway/upstream/attempt/attempt-failure.ts';
/** Statuses of a provider, by the kind of failure. */
const [refused, misconfigured] = ['refused', 'misconfigured'].map(kind =>
  numbersIn(
    failures,
    new RegExp(`case (\\d+):\\s+case (\\d+):\\s+case (\\d+):[^:]*?return \\{ kind: '${kind}'`),
  ),
) as [number[], number[]];

/** The numbers of attempts at providers, of streams, plugins and what is told of exchanges. */
export const requestBounds: readonly Bound[] = [
  { says: 'paused for {} s', is: seconds(upstream, 'misconfigured_pause_ms') },
  { says: '| {}, {}, {} | no: another upstream', is: refused },
  { says: '| {}, {}, {} | yes; the log has an error', is: misconfigured },
  { says: 'answered {}, {} or {}: the request is wrong', is: refused },
  { says: 'answered {}, {} or {}: its key', is: misconfigured },
  {
    says: 'Upstreams up to a {} slower count as equally fast',
    is: constantIn('src/mount/routing-strategies.ts', 'alike') - 1,
  },
  {
    says: 'for {} tokens of prompt and one of completion',
    is: numbersIn('src/mount/routing-strategies.ts', /prompt_share = (\d+)n/),
  },
  {
    says: 'has paused for {} minutes',
    is: minutes('src/mount/controls/drained-conversations.ts', 'idle_ms'),
  },
  {
    says: 'a budget of {}, {}, {} or {} tokens within {}/{} of `max_tokens`',
    is: [
      ...['low', 'medium', 'high', 'xhigh'].map(level => constantIn(thinking, level)),
      ...[constantIn(thinking, 'thinking_share') * 5, 5],
    ],
  },
  // Estimates count as certain from here on.
  {
    says: 'answers 400 if it is more than a {} above the context',
    is: 1 / constantIn('plugins/stages/validation/length.ts', 'certainty') - 1,
  },
  { says: 'handshakes end after {} s', is: seconds('src/cli/listener-certificate.ts', 'handshake_ms') },
  { says: "the gateway's {} s", is: seconds('src/cli/public-listener.ts', 'keep_alive_ms') },
  {
    says: 'does not load within {} seconds',
    is: seconds('src/config/import-plugin.ts', 'default_load_ms'),
  },
  { says: '`close` may take {} seconds', is: seconds('src/mount/extensions.ts', 'patience_ms') },
  {
    says: '`close` of the stages, which have {} seconds',
    is: seconds('src/gateway/exchange/chain.ts', 'close_limit_ms'),
  },
  {
    says: 'Stages that do not settle then get {} s more',
    is: seconds('src/gateway/outbound/reply-limits.ts', 'closing_patience_ms'),
  },
  {
    says: 'no exchange is running. Has {} seconds',
    is: seconds('src/gateway/exchange/chain.ts', 'close_limit_ms'),
  },
  {
    says: 'A value may have {} MiB; a larger one is not stored, and a TTL of more than {} days ends after those. In this process, each stage has {} MiB',
    // Two bytes for a character.
    is: [max_value_bytes / 2 ** 20, max_ttl_ms / 86_400_000, (2 * max_memory_characters) / 2 ** 20],
  },
  { says: 'the id of `model`; at most {} characters', is: constantIn(settle, 'max_text') },
  { says: 'quotations of the prompt, at most {} characters', is: constantIn(settle, 'max_text') },
  { says: "that error's text, at most {} characters", is: constantIn(settle, 'max_text') },
  { says: 'in which they began; at most {}.', is: constantIn(settle, 'max_stage_records') },
  {
    says: 'of the provider (at most {} characters)',
    is: constantIn('src/gateway/upstream/attempt/attempt-failure.ts', 'max_text'),
  },
  {
    says: 'in this process, for at most {} s',
    is: seconds('src/mount/provider-check/test-provider.ts', 'patience_ms'),
  },
  {
    says: 'holds back at most `window` characters, {} by default',
    is: numbersIn('plugins/stages/redact/text/map-text.ts', /window = (\d+) \}/),
  },
  {
    says: 'whose labels are all `_other`. {} by default',
    is: constantIn('src/telemetry/metric.ts', 'default_max_series'),
  },
  {
    says: 'while its reader asks for nothing; {} without it',
    is: constantIn('src/testing/setting.ts', 'read_ahead'),
  },
  {
    says: 'the promise of each hook; {} without it',
    is: constantIn('src/testing/setting.ts', 'timeout_ms'),
  },
  {
    says: 'encoding one request may take; {} without it',
    is: numbersIn('src/testing/adapter/adapter-setting.ts', /timeout_ms: timeout = (\d+)/),
  },
  {
    says: 'ids of tool calls become {} letters and digits',
    is: numbersIn('plugins/providers/presets/mistral.ts', /\{(\d+)\}\$/),
  },
  {
    says: 'Refuses more than a {}.',
    is: constantIn('src/gateway/dialects/request-schema/unknown-fields.ts', 'max_unknown_fields'),
  },
  {
    says: 'not settled after {} seconds',
    is: seconds('src/mount/chain/application-accounts.ts', 'answer_ms'),
  },
  { says: 'A promise has {} seconds', is: seconds('plugins/dashboard/operators-site.ts', 'operator_ms') },
  { says: '`sluice_limit_used_ratio` has at most {} series', is: constantIn(fullest, 'max_shown') },
  {
    says: 'of accounts, at most {} of those {} used',
    is: [constantIn(fullest, 'max_shown'), constantIn(fullest, 'min_shown')],
  },
  {
    says: 'for {} s if it is not tried again',
    is: seconds('src/telemetry/store-health.ts', 'default_forget_ms'),
  },
  { says: '{} MiB of lines wait', is: mib('src/telemetry/standard-output.ts', 'max_waiting_bytes') },
  { says: 'Repeats** of a failed attempt are written once in {} seconds', is: pace_s },
];
