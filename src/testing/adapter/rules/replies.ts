import type { Chunk } from '../../../gateway/exchange/canonical.ts';
import { type SseEvent, SseParser } from '../../../gateway/sse/parse.ts';
import type { AdapterFixture } from '../adapter-contract.ts';
import type { AdapterSetting } from '../adapter-setting.ts';
import {
  inventedText,
  type Meaning,
  meaningDifference,
  meaningOf,
  meaningOfReply,
  withoutIds,
} from '../meaning.ts';
import { chunkFault, replyFault } from '../shape.ts';
import { inBatches } from './nonsense.ts';

/** The stream means what the fixture says, in canonical chunks. */
export function checkStream(setting: AdapterSetting, fixture: AdapterFixture): void {
  const { name, stream } = fixture;
  if (stream === undefined) return;
  const place = { fixture: name, cut: 'uncut' };
  const { chunks, fault } = setting.read(place, [Buffer.from(stream)]);
  if (fault !== undefined) {
    const problem = 'does not decode a whole stream';
    throw setting.breach('meaning', place, problem, { expected: 'no error', got: causeOf(fault) });
  }
  for (const chunk of chunks) {
    const wrong = chunkFault(chunk);
    if (wrong) throw setting.breach('shape', place, `decodes to no canonical chunk: ${wrong.what}`, wrong);
  }
  checkCallDeltas(setting, name, chunks);
  checkRunningUsage(setting, name, chunks);
  const found = meaningDifference(meaningOfReply(fixture), meaningOf(chunks));
  if (found)
    throw setting.breach('meaning', place, `does not decode what the stream says: ${found.what}`, found);
}

/** The whole reply means the same. */
export function checkReply(setting: AdapterSetting, fixture: AdapterFixture): void {
  if (fixture.reply === undefined) return;
  const place = { fixture: fixture.name, cut: 'not streamed' };
  const read = setting.decode(place, JSON.stringify(fixture.reply));
  if ('fault' in read) {
    const problem = 'does not decode a whole reply';
    throw setting.breach('whole-replies', place, problem, { expected: 'no error', got: causeOf(read.fault) });
  }
  const wrong = replyFault(read.reply);
  if (wrong) throw setting.breach('shape', place, `decodes to no canonical reply: ${wrong.what}`, wrong);
  const found = meaningDifference(meaningOfReply(fixture), meaningOfReply(read.reply));
  if (!found) return;
  const problem = `does not decode what the whole reply says: ${found.what}`;
  throw setting.breach('whole-replies', place, problem, found);
}

/** Calls have an id and a name when they begin, indexes without gaps, and arguments that are one JSON object. */
function checkCallDeltas(setting: AdapterSetting, fixture: string, chunks: readonly Chunk[]): void {
  const calls = new Map<string, { id: string; name: string; text: string }>();
  const count = new Map<number, number>();
  const wrong = (problem: string, expected: unknown, got: unknown) =>
    setting.breach('tool-calls', { fixture, cut: 'uncut' }, problem, { expected, got });
  for (const choice of chunks.flatMap(chunk => chunk.choices)) {
    for (const { index, id, function: called } of choice.delta.tool_calls ?? []) {
      const key = `${choice.index}/${index}`;
      const next = count.get(choice.index) ?? 0;
      const call = calls.get(key);
      if (call) {
        call.text += called?.arguments ?? '';
        call.name ||= called?.name ?? '';
        continue;
      }
      if (index !== next) throw wrong('leaves a gap in the indexes of tool calls', next, index);
      if (!id) throw wrong('begins a tool call without an id', 'an id', id);
      count.set(choice.index, next + 1);
      calls.set(key, { id, name: called?.name ?? '', text: called?.arguments ?? '' });
    }
  }
  const all = [...calls.values()];
  const ids = all.map(({ id }) => id);
  if (new Set(ids).size < ids.length) throw wrong('gives two tool calls one id', 'different ids', ids);
  for (const { name, text } of all) {
    if (name === '') throw wrong('decodes a tool call without a name', 'a name', name);
    if (!isJsonObject(text)) throw wrong('decodes arguments that are no JSON object', 'a JSON object', text);
  }
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Usage is cumulative. */
function checkRunningUsage(setting: AdapterSetting, fixture: string, chunks: readonly Chunk[]): void {
  const told = chunks.flatMap(({ usage }) => usage?.completion_tokens ?? []);
  const at = told.findIndex((tokens, place) => tokens < (told[place - 1] ?? 0));
  if (at === -1) return;
  const values = { expected: `at least ${told[at - 1]}`, got: told[at] };
  throw setting.breach('usage', { fixture, cut: 'uncut' }, 'reports running usage that decreases', values);
}

/** The stream means the same in pieces of one byte, in every spelling of its line ends, and between comments. */
export function checkCuts(setting: AdapterSetting, fixture: AdapterFixture): void {
  const { name, stream } = fixture;
  if (stream === undefined) return;
  for (const [cut, parts] of cutsOf(stream)) {
    const place = { fixture: name, cut };
    const { chunks, fault } = setting.read(place, parts);
    const found =
      fault === undefined
        ? meaningDifference(meaningOfReply(fixture), meaningOf(chunks))
        : { what: 'an error', expected: 'no error', got: causeOf(fault) };
    if (!found) continue;
    const problem = `decodes another result when the bytes arrive otherwise: ${found.what}`;
    throw setting.breach('same-result', place, problem, found);
  }
}

function* cutsOf(stream: string): Generator<[cut: string, parts: Buffer[]]> {
  const plain = stream.replace(/\r\n?/g, '\n');
  yield ['lines that end with CR LF', [Buffer.from(plain.replaceAll('\n', '\r\n'))]];
  yield ['lines that end with CR', [Buffer.from(plain.replaceAll('\n', '\r'))]];
  yield ['after a byte order mark', [Buffer.from(`\uFEFF${stream}`)]];
  yield ['a comment between events', [Buffer.from(plain.replaceAll('\n\n', '\n\n: ping\n\n'))]];
  yield ['no blank line at the end', [Buffer.from(plain.trimEnd())]];
  const bytes = Buffer.from(stream);
  yield ['byte by byte', [...bytes].map(byte => Buffer.from([byte]))];
  yield ['event by event', plain.split(/(?<=\n\n)/).map(event => Buffer.from(event))];
}

/** A stream that ends early is an error, unless all of its choices are there; and nothing is said that was not sent. */
export function checkTruncation(setting: AdapterSetting, fixture: AdapterFixture): void {
  const { name, stream } = fixture;
  if (stream === undefined) return;
  const bytes = Buffer.from(stream);
  const whole = meaningOfReply(fixture);
  inBatches(setting, endsIn(bytes), at => {
    const place = { fixture: name, cut: `broken off at byte ${at} of ${bytes.length}` };
    const { chunks, fault } = setting.read(place, [bytes.subarray(0, at)]);
    const got = meaningOf(chunks);
    const missing = fault === undefined ? meaningDifference(saidBy(whole), saidBy(got)) : undefined;
    if (missing) {
      const problem = `takes a stream that broke off for complete: ${missing.what}`;
      throw setting.breach('truncation', place, problem, missing);
    }
    const invented = inventedText(whole, got);
    if (invented) {
      const problem = `says something else when the stream breaks off: ${invented.what}`;
      throw setting.breach('truncation', place, problem, invented);
    }
  });
}

/** Where a stream may break off: around every line end, and at every seventh byte of the long lines between. */
function* endsIn(bytes: Buffer): Generator<number> {
  const isLineEnd = (byte: number | undefined) => byte === 10 || byte === 13;
  for (let at = 0; at < bytes.length; at++) {
    const isNear = [-2, -1, 0, 1].some(off => isLineEnd(bytes[at + off]));
    if (isNear || at % 7 === 0) yield at;
  }
}

const saidBy = ({ choices }: Meaning): Meaning => ({ choices, usage: undefined });

/** Two streams that are read in turns, an event of each, come out as each does alone. */
export function checkIsolation(
  setting: AdapterSetting,
  fixture: AdapterFixture,
  beside: AdapterFixture,
): void {
  for (const other of [fixture, beside]) checkBeside(setting, fixture, other);
}

function checkBeside(setting: AdapterSetting, fixture: AdapterFixture, beside: AdapterFixture): void {
  if (fixture.stream === undefined || beside.stream === undefined) return;
  const place = { fixture: fixture.name, cut: `beside ${beside.name}, at the same time` };
  const expected = withoutIds(meaningOfReply(fixture));
  const [one, other] = [eventsIn(fixture.stream), eventsIn(beside.stream)];
  const chunks: Chunk[] = [];
  const problem = 'mixes streams that are read at the same time';
  try {
    setting.inTime(place, () => {
      const mine = setting.adapter.openStream();
      const theirs = setting.adapter.openStream();
      for (let at = 0; at < Math.max(one.length, other.length); at++) {
        if (one[at]) chunks.push(...mine.decode(one[at]!));
        if (other[at]) theirs.decode(other[at]!);
      }
    });
  } catch (got) {
    throw setting.breach('isolation', place, problem, { expected: 'no error', got: causeOf(got) });
  }
  const found = meaningDifference(expected, withoutIds(meaningOf(chunks)));
  if (found) throw setting.breach('isolation', place, `${problem}: ${found.what}`, found);
}

/** The events that an adapter sees of a stream. */
function eventsIn(stream: string): SseEvent[] {
  const parser = new SseParser(Buffer.byteLength(stream));
  return [...parser.feed(stream), ...parser.end()].filter(({ data }) => data.trim() !== '[DONE]');
}

/** The cause says more of a catalogued error than its message for clients. */
const causeOf = (fault: unknown): unknown => (fault instanceof Error && fault.cause) || fault;
