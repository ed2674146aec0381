import { isObject } from '../../../common/json-object.ts';
import { jsonOf } from '../../../gateway/upstream/http/upstream-error.ts';
import type { AdapterFixture } from '../adapter-contract.ts';
import { type AdapterSetting, isKnownError } from '../adapter-setting.ts';
import { mutationsOf } from '../mutations.ts';
import { chunkFault, replyFault } from '../shape.ts';

const known = 'a canonical result, an UpstreamError or a GatewayError';

/** Bodies that are no reply in any format. */
const noReplies = ['', 'text', '<html></html>', '{', 'null', '7', '"text"', '[]', '[null]', '{}'];
const noEvents = [
  '',
  ': ping\n\n',
  'data:\n\n',
  'data: {"a\n\n',
  'data: 7\n\n',
  'data: null\n\n',
  'data: {}\n\n',
];

/** What is no reply at all is an error. */
export function checkNoReplies(setting: AdapterSetting): void {
  for (const body of noReplies) {
    const place = { fixture: 'a whole reply', cut: JSON.stringify(body) };
    const read = setting.decode(place, body);
    if ('fault' in read) rejectUnknown(setting, place, read.fault);
    else {
      const values = { expected: 'an error', got: read.reply };
      throw setting.breach('nonsense', place, 'decodes a reply from what is none', values);
    }
  }
  for (const wire of noEvents) {
    const place = { fixture: 'a stream', cut: JSON.stringify(wire) };
    const { fault } = setting.read(place, [Buffer.from(wire)]);
    if (fault !== undefined) rejectUnknown(setting, place, fault);
    else {
      const values = { expected: 'an error', got: 'a complete stream' };
      throw setting.breach('nonsense', place, 'takes a stream that says nothing for complete', values);
    }
  }
}

/** A whole reply with any of its parts changed or missing decodes into something canonical, or is a known error. */
export function checkMutatedReply(setting: AdapterSetting, { name, reply }: AdapterFixture): void {
  if (reply === undefined) return;
  inBatches(setting, mutationsOf(reply), ([change, text]) => {
    const place = { fixture: name, cut: `not streamed, ${change}` };
    const read = setting.decode(place, text);
    if ('fault' in read) rejectUnknown(setting, place, read.fault);
    else rejectUnlike(setting, place, replyFault(read.reply));
  });
}

/** The same of the events of streams: of all that have the same parts the first two, as the second finds something begun. */
export function checkMutatedStream(setting: AdapterSetting, { name, stream }: AdapterFixture): void {
  if (stream === undefined) return;
  const blocks = stream.replace(/\r\n?/g, '\n').split('\n\n');
  for (const [at, block] of blocks.entries()) {
    const [, before = '', data = ''] = /^((?:.*\n)*?data: ?)(.*)$/.exec(block) ?? [];
    const event = jsonOf(data);
    if (!isObject(event)) continue;
    const parts = before + partsOf(event);
    const times = setting.malformed.get(parts) ?? 0;
    if (times === 2) continue;
    setting.malformed.set(parts, times + 1);
    inBatches(setting, mutationsOf(event), ([change, text]) => {
      if (times > 0 && text.length > long_text) return;
      const place = { fixture: name, cut: `event ${at}, ${change}` };
      const wire = blocks.with(at, before + text).join('\n\n');
      const { chunks, fault } = setting.read(place, [Buffer.from(wire)]);
      if (fault !== undefined) rejectUnknown(setting, place, fault);
      for (const chunk of chunks) rejectUnlike(setting, place, chunkFault(chunk));
    });
  }
}

/** A value with the types of its texts and numbers in place of them. */
const partsOf = (value: object): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' || typeof part === 'boolean' ? part : typeof part,
  );

/** Longer than any part of a fixture: what is nested deeply takes long to parse, and need not be parsed twice. */
export const long_text = 10_000;

/** Few enough for one time limit. */
const batch_size = 100;

/** Checks each under a time limit that many share. */
export function inBatches<T>(setting: AdapterSetting, all: Iterable<T>, check: (one: T) => void): void {
  const rest = [...all];
  while (rest.length > 0) {
    const batch = rest.splice(0, batch_size);
    setting.together(() => batch.forEach(check));
  }
}

type Place = { readonly fixture: string; readonly cut: string };

function rejectUnknown(setting: AdapterSetting, place: Place, got: unknown): void {
  // What is nested too deeply to follow is an invalid reply for the gateway as well.
  if (isKnownError(got) || got instanceof RangeError) return;
  throw setting.breach('nonsense', place, 'throws what the gateway does not know', { expected: known, got });
}

function rejectUnlike(setting: AdapterSetting, place: Place, wrong: ReturnType<typeof chunkFault>): void {
  if (!wrong) return;
  throw setting.breach(
    'nonsense',
    place,
    `decodes malformed input to what is not canonical: ${wrong.what}`,
    wrong,
  );
}
