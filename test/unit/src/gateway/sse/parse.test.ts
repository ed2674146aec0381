import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type SseEvent, SseParser } from '../../../../../src/gateway/sse/parse.ts';
import { anyCharacter, cutAt, cuts } from '../../../chunk-stream.ts';

const limit = 10_000;

/** The events of a stream that comes in these pieces and then ends. */
function parsed(pieces: readonly string[], max_event_bytes = limit): SseEvent[] {
  const parser = new SseParser(max_event_bytes);
  const events = pieces.flatMap(piece => parser.feed(piece));
  return [...events, ...parser.end()].map(({ data, event }) =>
    event === undefined ? { data } : { data, event },
  );
}

describe('the parser of events', () => {
  it.each<[string, string, SseEvent[]]>([
    ['one line', 'data: {"a":1}\n\n', [{ data: '{"a":1}' }]],
    ['a type without data', 'event: ping\n\ndata: a\n\n', [{ data: 'a' }]],
    ['blank lines only', '\n\n\n', []],
    ['a last event with one CR', 'data: b\r', [{ data: 'b' }]],
    ['an error field at the end', 'error: {"co', [{ event: 'error', data: '{"co' }]],
    ['fields that begin like it', 'errors: x\nerr\nerror\n\n', [{ event: 'error', data: '' }]],
    ['the word error in data and comments', ':error: x\ndata: error: y\n\n', [{ data: 'error: y' }]],
  ])('reads the fixture %s', (_, text, events) => {
    expect(parsed([text])).toEqual(events);
    expect(parsed([...text])).toEqual(events);
  });

  const mark = '\uFEFF';
  it.each<[string, string, SseEvent[]]>([
    ['one', `${mark}data: a\n\ndata: b\n\n`, [{ data: 'a' }, { data: 'b' }]],
    ['two', `${mark}${mark}data: a\n\ndata: b\n\n`, [{ data: 'b' }]],
    ['three', `${mark}${mark}${mark}data: a\n\ndata: b\n\n`, [{ data: 'b' }]],
    ['one alone', mark, []],
    ['one before an error field', `${mark}error: a\n\n`, [{ event: 'error', data: 'a' }]],
    ['two before an error field', `${mark}${mark}error: a\n\ndata: b`, [{ data: 'b' }]],
    ['one before a later event', `data: a\n\n${mark}data: b\n\ndata: c`, [{ data: 'a' }, { data: 'c' }]],
    ['one before a later error field', `data: a\n\n${mark}error: b`, [{ data: 'a' }]],
  ])(
    'drops one byte order mark at the beginning of a stream that has %s, wherever it is cut',
    (_, text, events) => {
      const twice = Array.from({ length: text.length + 1 }, (_, at) => [text.slice(0, at), text.slice(at)]);
      for (const pieces of [[text], [...text], ...twice]) expect(parsed(pieces)).toEqual(events);
    },
  );
});

describe('any events, written in any valid way and cut anywhere', () => {
  const line = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 8 }).map(text => text.replace(/[\r\n]/g, '')),
    fc.constantFrom('{"a":1}', '[DONE]', ' x', '', ':', 'data: x', 'error: x', '…🎲'),
  );
  const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
  const written = fc.record({
    lines: fc.array(line, { minLength: 1, maxLength: 3 }).filter(lines => lines.join('\n') !== ''),
    type: fc.constantFrom(undefined, 'ping', 'response.output_text.delta', 'error'),
    asErrorField: fc.boolean(),
    noise: fc.array(fc.constantFrom(': keep-alive', ':', 'id: 1', 'retry: 5', 'foo: bar', 'er: x', ''), {
      maxLength: 2,
    }),
    tight: fc.boolean(),
  });
  const wire = fc.record({
    all: fc.array(written, { maxLength: 5 }),
    ends: fc.oneof(
      fc.constantFrom('\n', '\r\n', '\r').map(one => [one]),
      fc.array(lineEnd, { minLength: 1, maxLength: 9 }),
    ),
    mark: fc.boolean(),
    open: fc.nat(2),
  });
  type Written = typeof written extends fc.Arbitrary<infer T> ? T : never;

  const linesOf = ({ lines, type, asErrorField, noise, tight }: Written): string[] => {
    const field = (name: string, value: string) =>
      `${name}:${tight && !value.startsWith(' ') ? '' : ' '}${value}`;
    if (asErrorField) return [...noise, field('error', lines[0]!), ''];
    return [...noise, ...(type ? [field('event', type)] : []), ...lines.map(text => field('data', text)), ''];
  };
  const eventOf = ({ lines, type, asErrorField }: Written): SseEvent => {
    if (asErrorField) return { event: 'error', data: lines[0]! };
    return { data: lines.join('\n'), ...(type && { event: type }) };
  };

  /** Lines with their ends; an LF after a CR would be read as one end, so a blank line there gets another. */
  function joined(lines: readonly string[], ends: readonly string[]): string {
    let text = '';
    for (const [at, content] of lines.entries()) {
      const end = ends[at % ends.length]!;
      text += content + (content === '' && text.endsWith('\r') && end === '\n' ? '\r' : end);
    }
    return text;
  }

  it('are parsed as the same events', () => {
    fc.assert(
      fc.property(wire, cuts, ({ all, ends, mark, open }, places) => {
        // The last event may lack its blank line, and its line end as well.
        const lines = all.flatMap(linesOf).slice(0, open > 0 ? -1 : undefined);
        const whole = joined(lines, ends);
        const text = (mark ? '\uFEFF' : '') + (open > 1 ? whole.replace(/(\r\n|\r|\n)$/, '') : whole);
        expect(parsed(cutAt(text, places))).toEqual(all.map(eventOf));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the size limit of events', () => {
  const event = (length: number) => `data: ${'x'.repeat(length)}\n\n`;

  it.each([
    ['in one piece', [event(200)]],
    ['cut', [event(200).slice(0, 150), event(200).slice(150)]],
    ['without any line end', ['data: ', 'x'.repeat(60), 'x'.repeat(60)]],
    ['in several data lines', [`data: ${'x'.repeat(60)}\n`, `data: ${'x'.repeat(60)}\n\n`]],
    ['as an error field that does not end', ['error: ', 'x'.repeat(120)]],
  ])('rejects an event that is too large, %s', (_, pieces) => {
    const parser = new SseParser(100);
    pieces.flatMap(piece => parser.feed(piece));
    expect(parser.isOverfull).toBe(true);
    expect(parser.feed('data: after\n\n')).toEqual([]);
  });

  it('applies to each event, not to all together', () => {
    const text = event(80).repeat(50);
    expect(parsed([text], 100)).toHaveLength(50);
    expect(parsed(text.match(/.{1,7}|\n+/gs)!, 100)).toHaveLength(50);
  });

  it('ignores comments', () => {
    expect(parsed([`: ${'x'.repeat(500)}\n`, event(80)], 100)).toHaveLength(1);
  });
});
