import { describe, expect, it } from '@jest/globals';
import { documents, read } from '../support/documents/blocks.ts';
import { alertBounds } from '../support/documents/bounds/alerts.ts';
import { configurationBounds } from '../support/documents/bounds/configuration.ts';
import { recipeBounds } from '../support/documents/bounds/recipes.ts';
import { recordsBounds } from '../support/documents/bounds/records.ts';
import { requestBounds } from '../support/documents/bounds/requests.ts';
import { runningBounds } from '../support/documents/bounds/running.ts';
import { unsetBounds } from '../support/documents/bounds/unset.ts';
import { constantIn } from '../support/documents/constants.ts';
import { defaultOf, unknownNames } from '../support/documents/names.ts';
import { type Bound, comparedNumbers } from '../support/documents/numbers.ts';
import { passagesOf } from '../support/documents/passages.ts';

/** Names of other programs, by whose they are. */
const foreign: ReadonlySet<string> = new Set(
  Object.values({
    'Node and npm': [
      'NODE_COMPILE_CACHE',
      'RESPONSE_ALREADY_SENT',
      'ERR_HTTP_HEADERS_SENT',
      'server.mts',
      'next.config',
    ],
    'Docker and Kubernetes': [
      '--stop-timeout',
      '--init',
      '--health-cmd',
      '--build-arg',
      'kustomization.yaml',
    ],
    proxies: [
      ...[
        'flush_interval',
        'auth_request_set',
        'proxy_request_buffering',
        'client_max_body_size',
        'proxy_read_timeout',
        'max_fails',
      ],
      ...[
        'fail_timeout',
        'fail_duration',
        'health_uri',
        'proxy_next_upstream',
        'non_idempotent',
        'lb_retry_match',
      ],
      ...['least_conn', 'lb_policy', 'proxy_ignore_headers', 'request.raw.url'],
      ...['health_port', 'health_interval', 'lb_try_duration'],
    ],
    Postgres: ['search_path'],
    'vLLM and Ollama': ['--allowed-media-domains', 'OLLAMA_NUM_PARALLEL'],
    Gemini: ['thought_signature'],
    Codex: ['openai_base_url'],
    Portkey: ['x-portkey-config', 'x-portkey-', 'override_params.model', 'retry.attempts'],
    'client libraries': [
      'modelSettings.providerData',
      'bash_20250124',
      'prompt_tokens_details.cache_creation_tokens',
    ],
    OpenTelemetry: ['service.name', 'service.instance.id', 'OTEL_NODE_DISABLED_INSTRUMENTATIONS'],
    'prom-client': ['nodejs_eventloop_lag_p99_seconds', 'process_max_fds', 'process_open_fds'],
    'names that are made up or put together': [
      ...['major.minor.patch', 'main.db', 'pages/api/[...path].ts', '/opt/sluice/my-stage.ts'],
      ...[
        'plugins/stages/my-stage/index.ts',
        'plugins/providers/my-server/index.ts',
        'test/e2e/recipes-*.test.ts',
      ],
      ...['ledger_2026_12', 'attempts_2026_12', 'ledger_to_2026_11', 'sluice_provider'],
      ...['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
      ...[
        'sluice_responses_websocket_open',
        'sluice_responses_websocket_closed_total',
        'sluice_redact_matches_total',
      ],
      ...['/admin-api/v1/openapi.json', 'parent.usd_per_month'],
    ],
  }).flat(),
);

/** Sentences with numbers, and what the code has there. */
const bounds: readonly Bound[] = [
  ...alertBounds,
  ...configurationBounds,
  ...recordsBounds,
  ...recipeBounds,
  ...requestBounds,
  ...runningBounds,
  ...unsetBounds,
];

/** Measurements, each with its date and its command, are on a page of their own; no code sets them. */
const compared = documents.filter(page => page !== 'docs/explanation/performance.md');

describe('the documents', () => {
  it('name options, files, metrics, headers and variables that exist', () => {
    expect(documents.flatMap(document => unknownNames(document, foreign))).toEqual([]);
  });

  it('have the numbers that the code has', () => {
    const found = compared.map(page => comparedNumbers(page, bounds));
    expect(found.flatMap(({ unbound }) => unbound)).toEqual([]);
    const met = found.flatMap(page => [...page.met]);
    expect(bounds.filter(bound => !met.includes(bound))).toEqual([]);
  });

  it('say of other gateways what a source says, and when it was read', () => {
    const comparison = passagesOf('docs/comparison.md', read('docs/comparison.md'));
    const ofOthers = comparison.filter(({ text }) => /^\*\*Better there|^\| (?!sluice|\|)/.test(text));
    expect(ofOthers.length).toBeGreaterThan(10);
    expect(ofOthers.filter(({ text }) => !text.includes('](https:'))).toEqual([]);
    expect(comparison[0]?.text).toMatch(/^Read on \d{4}-\d\d-\d\d /);
  });

  it('are checked: names that nothing has are reported at their line', () => {
    const text =
      'Set `server.prt` and `server.port: 1`, `max_bdy_bytes`, `x-no-such-header`, `NO_SUCH_VARIABLE`, `--no-such`.\n\n' +
      'See `docs/gone.md`, `sluice_gone_total` and `health_check.path`.\n\n```sh\nexport OF_THE_PAGE=1\n```\n\n`OF_THE_PAGE`\n';
    expect(unknownNames('docs/sample.md', new Set(), text)).toEqual([
      'docs/sample.md:1: server.prt',
      'docs/sample.md:1: max_bdy_bytes',
      'docs/sample.md:1: x-no-such-header',
      'docs/sample.md:1: NO_SUCH_VARIABLE',
      'docs/sample.md:1: --no-such',
      'docs/sample.md:3: docs/gone.md',
      'docs/sample.md:3: sluice_gone_total',
    ]);
  });

  it('are checked: a number that no bound sentence has is reported, also where the code has changed', () => {
    const text = [
      'It waits ten seconds, and `5 s` is code.',
      '1. Node 24 answers 404 twice, on 2026-01-02 [after 3 s](https://example.com).',
      '| a | at most 10,000 rows |',
    ].join('\n\n');
    const asked = (is: number) => {
      const bound = { says: 'waits {} seconds', is };
      const { unbound, met } = comparedNumbers('docs/sample.md', [bound], text);
      return { unbound, isMet: met.has(bound) };
    };
    const rows = expect.stringMatching(/^docs\/sample.md:5: .*10,000 rows/);
    expect(asked(10)).toEqual({ unbound: [rows], isMet: true });
    const wait = expect.stringMatching(/^docs\/sample.md:1: .*ten seconds/);
    expect(asked(11)).toEqual({ unbound: [wait, rows], isMet: false });
    expect(defaultOf('server.port')).toBe(8080);
    expect(constantIn('src/records/pruning.ts', 'hours_ms')).toBe(92 * 86_400_000);
  });

  it.each([
    'notices are told when 50, 80 and 70 % are used',
    'a reply of up to half its size',
    'one minute at most',
    'more than twice',
    '128 choices',
  ])('are checked: every number is a claim in: %s', text => {
    expect(comparedNumbers('docs/sample.md', [], text).unbound).not.toEqual([]);
  });
});
