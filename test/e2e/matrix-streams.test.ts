import { matrix, type Row } from '../support/matrix/matrix.ts';
import {
  broken,
  completed,
  failed,
  gone,
  goneEarly,
  impatient,
  leavesOnceAsked,
  leavesWhen,
  refused,
  silence,
  toldBroken,
  toldFailed,
  toldRefused,
} from '../support/matrix/parts.ts';
import { chunk, events, thenClose, thenReset, whole } from '../support/scripted-upstream.ts';
import {
  compressed,
  doneSeen,
  halfSeen,
  middleOf,
  partsOf,
  textSeen,
  usageKinds,
  wholeReplyOf,
  wholeStreamOf,
} from '../support/settlement-answer.ts';

const error = { error: { message: 'no' } };
const upToText = ['head', 'role', 'firstHalf', 'secondHalf'] as const;
/** A client that has its stream's last event. */
const lastSeen = new RegExp(`${doneSeen.source}|event: message_stop\\n`);

const whole_streams = { told: { finish: 'stop' }, settled: completed, bill: 'all' } as const;
const broken_streams = { told: toldBroken, settled: broken, bill: 'half' } as const;
const no_streams = { told: toldFailed, settled: failed, bill: 'nothing' } as const;
const left = { settled: gone, connection: 'gateway' } as const;

const rows: readonly Omit<Row, 'ways' | 'kinds'>[] = [
  { when: 'the stream ends', plays: wholeStreamOf, ...whole_streams, connection: 'kept' },
  {
    when: 'the stream ends without [DONE] and the connection is closed',
    plays: kind => thenClose(partsOf(kind, ...upToText, 'finish', 'usage', 'end')),
    ...whole_streams,
    connection: 'upstream',
  },
  {
    when: 'the upstream lingers after [DONE]',
    plays: kind => partsOf(kind, ...upToText, 'finish', 'usage', 'done'),
    ...whole_streams,
    connection: 'gateway',
  },
  {
    when: 'a whole reply answers the stream',
    plays: wholeReplyOf,
    ...whole_streams,
    connection: 'kept',
  },
  {
    when: 'the stream is compressed',
    plays: kind => compressed(kind, 'whole'),
    ...whole_streams,
    connection: 'kept',
  },
  {
    when: 'the client leaves a compressed stream in the middle',
    plays: kind => compressed(kind, 'half'),
    client: leavesWhen(halfSeen),
    ...left,
    bill: 'half',
  },
  {
    when: 'a compressed stream is reset in the middle',
    plays: kind => thenReset(compressed(kind, 'half')),
    ...broken_streams,
    connection: 'upstream',
  },
  {
    when: 'the client leaves before the upstream has answered',
    plays: () => silence,
    client: leavesOnceAsked,
    settled: goneEarly,
    bill: 'prompt',
    connection: 'gateway',
  },
  {
    when: 'the client leaves before the first token',
    plays: kind => partsOf(kind, 'head', 'role'),
    client: leavesWhen(/"role":"assistant"|response\.in_progress|message_start/),
    ...left,
    bill: 'role',
  },
  {
    when: 'the client leaves in the middle',
    plays: middleOf,
    client: leavesWhen(halfSeen),
    ...left,
    bill: 'half',
  },
  {
    when: 'the client leaves between the text and the finish',
    plays: kind => partsOf(kind, ...upToText),
    client: leavesWhen(textSeen),
    ...left,
    bill: 'text',
  },
  {
    when: 'the client leaves between usage and [DONE]',
    plays: kind => partsOf(kind, ...upToText, 'finish', 'usage'),
    client: leavesWhen(textSeen),
    ...left,
    bill: 'all',
  },
  {
    when: 'the client leaves right after the last event',
    plays: wholeStreamOf,
    client: leavesWhen(lastSeen),
    settled: completed,
    bill: 'all',
    connection: 'kept',
  },
  { when: 'a reset comes before the reply', plays: () => thenReset(), ...no_streams, connection: 'upstream' },
  {
    when: 'a reset comes in the middle',
    plays: kind => thenReset(middleOf(kind)),
    ...broken_streams,
    connection: 'upstream',
  },
  {
    when: 'the stream ends in order in the middle',
    plays: kind => thenClose(middleOf(kind), '0\r\n\r\n'),
    ...broken_streams,
    connection: 'upstream',
  },
  { when: 'the upstream never answers', plays: () => silence, ...no_streams, connection: 'gateway' },
  { when: 'the upstream stalls in the middle', plays: middleOf, ...broken_streams, connection: 'gateway' },
  {
    when: 'garbage comes in the middle',
    plays: kind => Buffer.concat([middleOf(kind), chunk('data: {"choices":[{]}\n\n')]),
    ...broken_streams,
    connection: 'gateway',
  },
  {
    when: 'an error event comes in the middle',
    plays: kind => Buffer.concat([middleOf(kind), chunk(events(error, '[DONE]'))]),
    ...broken_streams,
    connection: 'gateway',
  },
  { when: 'the upstream answers 500', plays: () => whole(500, error), ...no_streams, connection: 'kept' },
  {
    when: 'the upstream answers 400',
    plays: () => whole(400, error),
    told: toldRefused,
    settled: refused,
    bill: 'nothing',
    connection: 'kept',
  },
];

/** A client's wish never changes the bill. */
const stream_options = { include_usage: false, continuous_usage_stats: false };
const chosen = rows.filter(({ when }) => /^the stream ends$|^a reset|in the middle$/.test(when));
const [, final, ...others] = usageKinds;
/** What is counted does not depend on the endpoint and the mount. */
const here = { ways: ['streamed'], mounts: ['sidecar'], dialects: ['chat.completions'] } as const;

const played: readonly Row[] = [
  ...rows.map(row => ({ ...row, ways: ['streamed'] as const, kinds: [final!] })),
  ...rows.map(row => ({ ...row, ...here, kinds: [usageKinds[0]!, ...others] })),
  ...chosen.map(row => ({
    ...{ ...row, ...here, more: { stream_options }, kinds: usageKinds },
    when: `${row.when}, and the client wants no usage`,
  })),
];
const isSilent = ({ when }: Row) => /never answers|stalls/.test(when);

matrix(
  'a stream',
  played.filter(row => !isSilent(row)),
);
matrix('a stream of a silent upstream', played.filter(isSilent), impatient);
