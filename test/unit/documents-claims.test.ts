import { describe, expect, it } from '@jest/globals';
import { bufferLimits } from '../../src/gateway/inbound/buffer-limits.ts';
import { machine_times } from '../../src/records/lease-protocol.ts';
import { documents } from '../support/documents/blocks.ts';
import { defaultOf, unknownNames } from '../support/documents/names.ts';
import { type Bound, constantIn, unboundNumbers } from '../support/documents/numbers.ts';

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
      ...['/admin-api/v1/openapi.json'],
    ],
  }).flat(),
);

/** The number of a constant, in another unit: of bytes in KiB, of milliseconds in seconds. */
const kib = (file: string, name: string): number => constantIn(file, name) / 1024;
const seconds = (file: string, name: string): number => constantIn(file, name) / 1000;
const minutes = (file: string, name: string): number => seconds(file, name) / 60;
const days = (file: string, name: string): number => minutes(file, name) / 60 / 24;

const account_age = seconds('src/mount/records/cached-lookups.ts', 'current_ms');

const pool = 'src/mount/workers/worker-pool.ts';
const time_to_end =
  (defaultOf('server.unready_ms') +
    defaultOf('server.drain_ms') +
    constantIn('src/cli/signals.ts', 'abort_ms')) /
  1000;

/** Rows of the table of `max_buffered_bytes` by the memory of a container, of which Node takes half as heap. */
function bodyMemory(): Bound[] {
  const mib = 1024 * 1024;
  const shown = (count: number) => (count < 1024 ? `${count} MiB` : `${count / 1024} GiB`);
  return [256, 512, 1024, 2048].flatMap(size => {
    const { total_bytes, account_bytes } = bufferLimits(
      { max_body_bytes: defaultOf('server.max_body_bytes') } as Parameters<typeof bufferLimits>[0],
      { heap_bytes: (size / 2) * mib, container_bytes: size * mib },
    );
    const [total = 0, account = 0] = [total_bytes, account_bytes].map(bytes => Math.floor(bytes / mib));
    const row = `| ${shown(size)} | ${shown(size / 2)} |`;
    return [
      { says: `${row} {} MiB | ${account} MiB`, is: total },
      { says: `up to {} MiB for request bodies`, is: size === 1024 ? total : 0 },
    ];
  });
}

/** Sentences with a number in place of `{}`, and what the code has there. */
const bounds: readonly Bound[] = [
  { says: 'every running instance within {} seconds', is: account_age },
  { says: 'every other within {} seconds', is: account_age },
  { says: 'every instance within {} seconds', is: account_age },
  {
    says: 'does not load within {} seconds',
    is: seconds('src/config/import-plugin.ts', 'default_load_ms'),
  },
  { says: '`close` may take {} seconds', is: seconds('src/mount/extensions.ts', 'patience_ms') },
  { says: 'fades within {} seconds', is: seconds('src/gateway/upstream/routing/upstream.ts', 'memory_ms') },
  {
    says: 'paused for {} s',
    is: seconds('src/gateway/upstream/routing/upstream.ts', 'misconfigured_pause_ms'),
  },
  {
    says: 'not gone on for {} minutes',
    is: minutes('src/mount/controls/drained-conversations.ts', 'idle_ms'),
  },
  { says: 'more than {} KiB of its body', is: kib('src/mount/passthrough/sent-body.ts', 'max_kept_bytes') },
  { says: 'handshakes end after {} s', is: seconds('src/cli/listener-certificate.ts', 'handshake_ms') },
  { says: 'closed after {} s', is: seconds('src/cli/public-listener.ts', 'keep_alive_ms') },
  { says: "the gateway's {} s", is: seconds('src/cli/public-listener.ts', 'keep_alive_ms') },
  { says: 'go back {} days', is: days('src/records/pruning.ts', 'hours_ms') },
  { says: 'kept for {} days', is: days('src/records/pruning.ts', 'hours_ms') },
  { says: 'less than {} days', is: days('src/config/certificate-files.ts', 'soon_ms') },
  {
    says: 'at most {} characters; never the query',
    is: constantIn('src/telemetry/server-span.ts', 'max_path_characters'),
  },
  {
    says: 'at most {} characters of the latter',
    is: constantIn('src/telemetry/server-span.ts', 'max_user_agent_characters'),
  },
  {
    says: 'do not see; at most {} characters',
    is: constantIn('src/telemetry/server-span.ts', 'max_name_characters'),
  },
  { says: 'the last spans have {} seconds', is: seconds('src/telemetry/sdk.ts', 'last_export_ms') },
  {
    says: 'more than {} MiB waited',
    is: kib('src/telemetry/standard-output.ts', 'max_waiting_bytes') / 1024,
  },
  {
    says: 'a password of at least {} characters',
    is: constantIn('src/cli/hash-password-command.ts', 'min_characters'),
  },
  // What a reader needs, and what is counted by other programs.
  { says: 'The old process accepts requests for {} seconds', is: defaultOf('server.unready_ms') / 1000 },
  { says: '`session_idle_ms` ({} minutes)', is: defaultOf('admin.session_idle_ms') / 60_000 },
  { says: '`session_max_ms` ({} hours)', is: defaultOf('admin.session_max_ms') / 3_600_000 },
  {
    says: 'checks the files every {} seconds',
    is: seconds('src/common/watch-files.ts', 'default_poll_ms'),
  },
  { says: 'From {} days before the end', is: days('src/config/certificate-files.ts', 'soon_ms') },
  { says: 'Postgres | within {} seconds', is: account_age },
  {
    says: 'Postgres | within {} second |',
    is: Math.ceil(2 * seconds('src/mount/records/store-sync.ts', 'usual_ms')),
  },
  { says: 'A container of {} GiB is enough', is: 1 },
  { says: 'That takes {} second at most', is: machine_times.patience_ms / 1000 },
  { says: 'Batches grow to {} rows', is: constantIn('src/mount/ledger/ledger.ts', 'batch_rows') },
  { says: '`drain_ms` + {} s', is: seconds('src/cli/signals.ts', 'abort_ms') },
  { says: 'is killed, {} s with the defaults', is: time_to_end },
  // Five messages to the primary process, for a busy event loop.
  { says: 'rows of its last {} ms', is: 5 * constantIn('src/mount/records/start-ledger.ts', 'flush_ms') },
  { says: 'starts after {} s', is: seconds(pool, 'first_delay_ms') },
  { says: 'after up to {} s', is: seconds(pool, 'max_delay_ms') },
  { says: 'counts as not ready after {} s', is: constantIn(pool, 'slow_looks') * seconds(pool, 'look_ms') },
  { says: 'is replaced after {} s', is: constantIn(pool, 'hung_looks') * seconds(pool, 'look_ms') },
  ...bodyMemory(),
  {
    says: 'not settled after {} seconds',
    is: seconds('src/mount/chain/application-accounts.ts', 'answer_ms'),
  },
  { says: 'A promise has {} seconds', is: seconds('plugins/dashboard/operators-site.ts', 'operator_ms') },
  { says: 'At other instances it is within {} seconds', is: account_age },
  ...['stream_commit_ms', 'keepalive_ms', 'slow_client_ms', 'drain_ms'].map(name => ({
    says: `\`${name}\` ({} s)`,
    is: defaultOf(`server.${name}`) / 1000,
  })),
  {
    says: 'fade within {} seconds',
    is: seconds('src/gateway/upstream/routing/upstream.ts', 'memory_ms'),
  },
  {
    says: 'has paused for {} minutes',
    is: minutes('src/mount/controls/drained-conversations.ts', 'idle_ms'),
  },
  {
    says: '1024, 8000, 24000 or {} tokens',
    is: constantIn('plugins/providers/anthropic/thinking.ts', 'max'),
  },
  { says: 'in others within {} seconds', is: account_age },
  { says: 'a text has at most {} characters', is: constantIn('src/telemetry/bounded-fields.ts', 'max_text') },
  { says: '{} MiB of lines wait', is: kib('src/telemetry/standard-output.ts', 'max_waiting_bytes') / 1024 },
  { says: 'logged at most once in {} seconds', is: seconds('src/telemetry/throttled-log.ts', 'line_ms') },
  { says: 'the last ones have {} seconds', is: seconds('src/telemetry/sdk.ts', 'last_export_ms') },
  {
    says: "that error's text, at most {} characters",
    is: constantIn('src/mount/running-exchanges.ts', 'max_name'),
  },
  {
    says: 'of the provider (at most {} characters)',
    is: constantIn('src/gateway/upstream/http/scrub.ts', 'max_characters'),
  },
  // Two bytes for a character.
  {
    says: 'each process keeps up to {} MiB',
    is: (kib('src/mount/chain/stage-cache.ts', 'max_memory_characters') * 2) / 1024,
  },
  {
    says: '{} % of the requests are drawn',
    is: constantIn('src/mount/routing-strategies.ts', 'explored') * 100,
  },
  ...['waits up to {} s', 'wait is longer than {} s'].map(says => ({
    says,
    is: seconds('plugins/stages/rate-limit/rate-limit-headers.ts', 'max_wait_ms'),
  })),
  {
    says: 'at most {} tokens are generated, as at OpenAI',
    is: constantIn('plugins/dialects/operations/completions.ts', 'default_tokens'),
  },
  // No settings of the gateway: a weight, another program's default, a reader's time.
  { says: 'for {} tokens of prompt and one', is: 3 },
  { says: '{} tokens below 24 GiB', is: 4096 },
  { says: 'below {} GiB. Clients', is: 24 },
  { says: 'shows {} tokens unless', is: 0 },
  { says: 'In {} minutes', is: 15 },
  { says: 'rounds of {} seconds', is: 10 },
  { says: 'in {} minutes from your own server', is: 15 },
];

/** Pages whose numbers are bound to the code; the list may only become longer. */
const held: readonly string[] = Object.entries({
  docs: ['README', 'tutorial'],
  'docs/explanation': ['failover', 'request', 'security', 'several-instances', 'streams'],
  'docs/how-to': [
    ...['anthropic', 'azure', 'benchmark', 'change-a-stream', 'change-the-configuration'],
    ...['connect-agents', 'dashboard', 'drain-a-provider', 'failover', 'find-a-request'],
    ...['from-litellm', 'from-portkey', 'gemini', 'grafana-and-alerts', 'harden'],
    ...['in-front-of-a-proxy', 'join-traces', 'llama-cpp', 'mount-elsewhere', 'mount-in-express'],
    ...['ollama', 'openai', 'openrouter', 'operator-sign-in', 'own-database'],
    ...['own-sign-in', 'several-instances', 'sglang', 'sign-up', 'test-an-application'],
    ...['tls', 'upgrade', 'vllm', 'write-a-dialect', 'write-a-stage'],
    ...['write-a-store', 'write-an-adapter', 'write-an-extension'],
  ],
  'docs/reference': [
    ...[
      'admin-api',
      'clients',
      'command',
      'compatibility',
      'configuration',
      'errors',
      'in-code',
      'logs',
      'metrics',
    ],
    ...['plugins', 'providers', 'stages'],
    'running',
  ],
}).flatMap(([folder, pages]) => pages.map(page => `${folder}/${page}.md`));

/** What is wrong today; the numbers may only become smaller. */
const known_names = 4;
const known_numbers = 4;

describe('the documents', () => {
  it('name options, files, metrics, headers and variables that exist', () => {
    const found = documents.flatMap(document => unknownNames(document, foreign));
    expect(found.length > known_names ? found : []).toEqual([]);
  });

  it('have the numbers that the code has', () => {
    const found = held.flatMap(page => unboundNumbers(page, bounds));
    expect(found.length > known_numbers ? found : []).toEqual([]);
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
    const text = 'It waits ten seconds, and `5 s` is code.\n\n| a | at most 10,000 rows |\n';
    const asked = (is: number) => unboundNumbers('docs/sample.md', [{ says: 'waits {} seconds', is }], text);
    expect(asked(10)).toEqual([expect.stringMatching(/^docs\/sample.md:3: .*10,000 rows/)]);
    expect(asked(11)).toEqual([
      expect.stringMatching(/^docs\/sample.md:1: .*ten seconds/),
      expect.stringMatching(/^docs\/sample.md:3: .*10,000 rows/),
    ]);
    expect(defaultOf('server.port')).toBe(8080);
    expect(constantIn('src/records/pruning.ts', 'hours_ms')).toBe(92 * 86_400_000);
  });
});
