import { max_choices } from '../../../../src/gateway/exchange/canonical.ts';
import { arriving_factor, structureMemory, textMemory } from '../../../../src/gateway/inbound/body-memory.ts';
import { bufferLimits } from '../../../../src/gateway/inbound/buffer-limits.ts';
import { limitWindows } from '../../../../src/gateway/limits/limit-table.ts';
import { max_parents } from '../../../../src/records/account-tree.ts';
import { constantIn, days, kib, mib, numbersIn, seconds } from '../constants.ts';
import { defaultOf } from '../names.ts';
import type { Bound } from '../numbers.ts';

const mebibyte = 1024 * 1024;
const limits_file = 'src/gateway/inbound/buffer-limits.ts';

/** What bodies may take of a container of so many MiB, of which Node takes half as heap, in MiB. */
function bodyBounds(size: number): readonly [total: number, account: number] {
  const { total_bytes, account_bytes } = bufferLimits(
    { max_body_bytes: defaultOf('server.max_body_bytes') } as Parameters<typeof bufferLimits>[0],
    { heap_bytes: (size / 2) * mebibyte, container_bytes: size * mebibyte },
  );
  return [Math.floor(total_bytes / mebibyte), Math.floor(account_bytes / mebibyte)];
}

/** Rows of the table of `max_buffered_bytes` by the memory of a container. */
const bodyRows: readonly Bound[] = [256, 512, 1024, 2048].map(size => {
  const inGib = (count: number) => (count < 1024 ? '{} MiB' : '{} GiB');
  const counts = [size, size / 2];
  return {
    says: `| ${counts.map(inGib).join(' | ')} | {} MiB | {} MiB |`,
    is: [...counts.map(count => (count < 1024 ? count : count / 1024)), ...bodyBounds(size)],
  };
});

/** JSON values of a message with a part of text and a call of a tool. */
const message = {
  role: 'assistant',
  content: [{ type: 'text', text: '' }],
  tool_calls: [{ id: '', type: 'function', function: { name: '', arguments: '' } }],
};
const valuesOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one) => sum + valuesOf(one), 1)
    : 1;

const [heap_part] = numbersIn(limits_file, /memory\.heap_bytes \/ (\d+)/) as [number];
const [left_part, least_part] = numbersIn(limits_file, /process_bytes\) \/ (\d+), share_bytes \/ (\d+)/) as [
  number,
  number,
];
const [account_part] = numbersIn(limits_file, /total_bytes \/ (\d+), least_share/) as [number];
const [large_of, large_all] = numbersIn(
  'src/gateway/inbound/buffered-bytes.ts',
  /large_share = (\d+) \/ (\d+)/,
) as [number, number];
/** At half a megabit for a second. */
const slow_upload_s = (defaultOf('server.max_body_bytes') * 8) / 0.5e6;

/** The numbers of options: defaults, and what the schemas and the tables of docs/reference say of them. */
export const configurationBounds: readonly Bound[] = [
  ...['stream_commit_ms', 'keepalive_ms', 'slow_client_ms'].map(name => ({
    says: `\`${name}\` ({} s)`,
    is: defaultOf(`server.${name}`) / 1000,
  })),
  { says: '`session_idle_ms` ({} minutes)', is: defaultOf('admin.session_idle_ms') / 60_000 },
  { says: '`session_max_ms` ({} hours)', is: defaultOf('admin.session_max_ms') / 3_600_000 },
  { says: '| `server.port`, {} |', is: defaultOf('server.port') },
  { says: '| `admin.port`, {} |', is: defaultOf('admin.port') },
  { says: 'The old process serves on for {} seconds', is: defaultOf('server.unready_ms') / 1000 },
  { says: 'tried again for {} hours', is: defaultOf('notices.retry_for_ms') / 3_600_000 },
  {
    says: 'told when {}, {} and {} % of a limit are used',
    is: numbersIn('plugins/notices/options.ts', /\.default\(\[(\d+), (\d+), (\d+)\]\)/),
  },
  {
    says: 'this account with this model used, or {} tokens before',
    is: numbersIn('plugins/stages/rate-limit/options-schema.ts', /\.default\((\d+)\)/),
  },
  {
    says: 'takes the signed notice at {} %',
    is: numbersIn('examples/sign-up/sluice.yaml', /thresholds: \[(\d+)\]/),
  },
  ...bodyRows,
  { says: 'That is {} MiB in a container of {} GiB', is: [bodyBounds(1024)[0], 1] },
  { says: 'and {} MiB in one of {} MiB', is: [bodyBounds(512)[0], 512] },
  { says: '{} messages with parts and tool calls have {}', is: [10_000, 10_000 * valuesOf(message)] },
  {
    says: '{} MiB at {} Mbit/s take {} s',
    is: [defaultOf('server.max_body_bytes') / mebibyte, 0.5, Math.ceil(slow_upload_s / 10) * 10],
  },
  {
    says: '({} byte for a character, {} in a body that is not all ASCII',
    is: [textMemory(1, true), textMemory(1, false)],
  },
  {
    says: '{} for each value, {} for each key)',
    is: [structureMemory({ values: 1, keys: 0 }), structureMemory({ values: 0, keys: 1 })],
  },
  // Its bytes and its text, and the copy for the provider.
  { says: 'A body takes {} to {} times its size', is: [arriving_factor, arriving_factor + 1] },
  {
    says: 'more than {} MiB are refused at {} quarters of it',
    is: [mib('src/gateway/inbound/buffered-bytes.ts', 'small_bytes'), (4 * large_of) / large_all],
  },
  { says: '{} of the heap that V8 may use', is: 1 / heap_part },
  {
    says: 'at most a {} of what the memory of the container, divided by `workers`, has above {} MiB, or an {} of it',
    is: [1 / left_part, mib(limits_file, 'process_bytes'), 1 / least_part],
  },
  {
    says: 'a {} of `max_buffered_bytes`, but at least {} times `max_body_bytes`',
    is: [1 / account_part, constantIn(limits_file, 'least_share_factor')],
  },
  {
    says: 'At most {} names with {} values each',
    is: ['max_tags', 'max_values'].map(name => constantIn('src/records/key-tags.ts', name)),
  },
  {
    says: 'Secrets of at least {} characters',
    is: numbersIn('plugins/dialects/responses/store/store-options.ts', /\.min\((\d+), /),
  },
  {
    says: 'for each request of the last {} seconds',
    is: seconds('src/gateway/upstream/routing/retry-budget.ts', 'window_ms'),
  },
  { says: 'At most {} are above an account', is: max_parents },
  { says: 'At most {} accounts are above one', is: max_parents },
  {
    says: 'The key itself, of at least {} characters',
    is: numbersIn('src/records/configured-accounts.ts', /value: z\s+\.string\(\)\s+\.min\((\d+), /),
  },
  {
    says: 'as {} hexadecimal digits',
    is: numbersIn('src/records/configured-accounts.ts', /0-9a-f\]\{(\d+)\}/),
  },
  ...['Requests', 'Tokens of prompts and completions'].map(what => ({
    says: `${what} in any {} s`,
    is: limitWindows.minute.duration_ms / 1000,
  })),
  {
    says: 'with which its months begin; {} by default',
    is: numbersIn('src/gateway/limits/limit-table.ts', /start_day = (\d+) \}/),
  },
  { says: 'no period of {} seconds', is: limitWindows.minute.duration_ms / 1000 },
  { says: 'A limit of any {} seconds', is: limitWindows.minute.duration_ms / 1000 },
  {
    says: 'refuses requests with {} % used',
    is: constantIn('plugins/notices/crossings.ts', 'used_up') * 100,
  },
  {
    says: 'more than {} choices, {} tool calls or {} parts',
    is: [
      max_choices,
      ...['max_tool_calls', 'max_parts'].map(name =>
        constantIn('src/gateway/upstream/reply-bounds.ts', name),
      ),
    ],
  },
  {
    says: 'or for {} s does not answer, requests get 502',
    is: seconds('plugins/stages/model-access/index.ts', 'limit_ms'),
  },
  {
    says: 'each counts as {} tokens',
    is: constantIn('src/simulator/reply.ts', 'IMAGE_TOKENS'),
  },
  // The watch looks once in that time, and cuts when nothing came between two looks.
  { says: 'the connection is cut after at most {} this', is: 2 },
  { says: 'From {} days before the end', is: days('src/config/certificate-files.ts', 'soon_ms') },
  {
    says: 'looks at the files every {} seconds',
    is: seconds('src/common/watch-files.ts', 'default_poll_ms'),
  },
  {
    says: 'at most {} KiB of its body were sent',
    is: kib('src/mount/passthrough/sent-body.ts', 'max_kept_bytes'),
  },
];
