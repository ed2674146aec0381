import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { messages } from '../../plugins/dialects/messages/index.ts';
import { responses } from '../../plugins/dialects/responses/index.ts';
import { ToolNames } from '../../plugins/dialects/responses/tool-names.ts';
import { AnthropicStream } from '../../plugins/providers/anthropic/stream.ts';
import { OpenRouterStream } from '../../plugins/providers/openrouter/decode.ts';
import { joinReply, StreamJoiner } from '../../plugins/stages/reasoning-split/join.ts';
import { StreamSplitter, splitReply } from '../../plugins/stages/reasoning-split/split.ts';
import { mapText } from '../../plugins/stages/redact/text/map-text.ts';
import { streamRechunk } from '../../plugins/stages/stream-rechunk/index.ts';
import { ReasoningCache } from '../../src/common/reasoning-cache.ts';
import { loadGptCounter } from '../../src/config/gpt-counter.ts';
import { chatCompletions } from '../../src/gateway/dialects/chat-completions/index.ts';
import type { GenerationFormat } from '../../src/gateway/dialects/define-dialect.ts';
import type { Chunk, Completion, Delta, StreamDecoder } from '../../src/gateway/exchange/canonical.ts';
import { Chain } from '../../src/gateway/exchange/chain.ts';
import { fromGenerator } from '../../src/gateway/exchange/from-generator.ts';
import type { Stage } from '../../src/gateway/exchange/stage.ts';
import type { ReplySink } from '../../src/gateway/outbound/reply-sink.ts';
import { StreamWriter } from '../../src/gateway/outbound/stream-writer.ts';
import { TokenEstimator } from '../../src/gateway/settlement/token-estimator.ts';
import { UsageMeter } from '../../src/gateway/settlement/usage-meter.ts';
import { SseParser } from '../../src/gateway/sse/parse.ts';
import { ContentCapture } from '../../src/gateway/upstream/attempt/content-capture.ts';
import { OpenAiStreamDecoder } from '../../src/gateway/upstream/openai/openai-stream-decoder.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { costGrowth, most_growth } from '../support/cost-growth.ts';
import { chunkOf, collected, streamOf, through, transformed } from './chunk-stream.ts';
import { readerOf } from './read-stream.ts';
import { sampleExchange, sampleRequest } from './sample-exchange.ts';
import { sampleSetup } from './sample-setup.ts';

/** Takes the pieces of one text, from the first to the end. */
type Subject = (pieces: readonly string[]) => unknown;

/** What texts are made of, over and over: what is held back, what nearly is a tag, and what has no place to cut. */
const units = {
  whitespace: ' ',
  'beginnings of a closing tag': '</think',
  'combining and Chinese characters': 'e\u0301語',
  'a word without end': 'x',
};
/** What the patterns below hold back. */
const heldUnits = { whitespace: ' ', 'beginnings of an opening tag': '<think', 'a word without end': 'x' };
/** For code that reads no characters, in which only sizes and numbers of pieces count. */
const anyUnit = { text: '<think 語' };
const tagUnits = {
  ...units,
  'beginnings of an opening tag': '<think',
  tags: '<think></think>',
  brackets: '<',
};

/** In what pieces, and how long the smaller of the two texts is. */
const cuts = [
  { piece: 1, characters: 2_000 },
  { piece: 100, characters: 20_000 },
  { piece: Number.POSITIVE_INFINITY, characters: 15_000 },
];

function cut(text: string, characters: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += characters) pieces.push(text.slice(at, at + characters));
  return pieces;
}

/** Before the text: what decides how it is read. */
const beginnings = ['', '<think>', '<think>a</think>', '<think>a'];

const textOf = (unit: string, characters: number) => unit.repeat(Math.ceil(characters / unit.length));

/** Which texts cost more than their length, of those that begin like this. */
async function superlinear(
  subject: Subject,
  starts: readonly string[] = [''],
  of: Readonly<Record<string, string>> = units,
): Promise<string[]> {
  const found: string[] = [];
  for (const [name, unit] of Object.entries(of))
    for (const start of starts)
      for (const { piece, characters } of of === anyUnit ? cuts.slice(0, 2) : cuts) {
        const prepare = (size: number) => {
          const pieces = [...(start ? [start] : []), ...cut(textOf(unit, size), piece)];
          return () => subject(pieces);
        };
        const growth = await costGrowth(prepare, characters);
        if (growth > most_growth)
          found.push(`${start} ${name}, ${piece} at a time: ${growth.toFixed(1)} times for 4`);
      }
  return found;
}

const content = (text: string): Chunk => chunkOf({ content: text });
const replyOf = (text: string, reasoning?: string): Completion => ({
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: text, ...(reasoning !== undefined && { reasoning }) },
      finish_reason: 'stop',
    },
  ],
});
const argumentsOf = (text: string, index = 0): Delta => ({
  tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: 'f', arguments: text } }],
});
const tokensOf = (...tokens: string[]) => ({
  content: tokens.map(token => ({ token, top_logprobs: [{ token }] })),
});
const drain = (chunks: AsyncIterable<Chunk>) => collected(chunks);

describe('the cost of a text is linear in its length', () => {
  it.each<[string, (piece: string) => Chunk, readonly string[], Readonly<Record<string, string>>]>([
    ['text', content, [''], tagUnits],
    ['arguments', piece => chunkOf(argumentsOf(piece)), ['', '['], heldUnits],
    ['arguments with a string', piece => chunkOf(argumentsOf(`{"${piece}`)), [''], heldUnits],
    [
      'log probabilities',
      piece => ({ choices: [{ ...content(piece).choices[0]!, logprobs: tokensOf(piece) }] }),
      [''],
      heldUnits,
    ],
    [
      'empty tokens beside held text',
      piece => ({ choices: [{ ...content(piece).choices[0]!, logprobs: tokensOf('x', '') }] }),
      [''],
      heldUnits,
    ],
  ])('for replacing in %s', async (_, chunk, starts, of) => {
    const patterns = [/x+y/, /<(?:\/?think)+>z/, /\s+\S{1,9}q/].map(pattern => ({ pattern, replace: '' }));
    const nowhere = { enqueue() {}, terminate() {}, ready: () => undefined };
    const replace: Subject = pieces => {
      const transformer = mapText(patterns).stream();
      for (const piece of pieces) void transformer.transform(chunk(piece), nowhere);
      void transformer.flush?.(nowhere);
    };
    expect(await superlinear(replace, starts, of)).toEqual([]);
  });

  it.each([
    [{ implicit: false, trim: true }, beginnings],
    [{ implicit: true, trim: true }, ['']],
    [{ implicit: false, trim: false }, ['<think>', '<think>a</think>']],
  ])('for splitting reasoning with %p', async (options, starts) => {
    const split: Subject = pieces =>
      drain(transformed(streamOf(pieces.map(content)), new StreamSplitter(options)));
    expect(await superlinear(split, starts, tagUnits)).toEqual([]);
  });

  it('for splitting and joining whole replies', async () => {
    const reply: Subject = pieces => {
      const text = pieces.join('');
      splitReply(replyOf(text), 'auto', true);
      joinReply(replyOf(text, text));
    };
    expect(await superlinear(reply, beginnings)).toEqual([]);
  });

  it('for joining a text that starts in reasoning', async () => {
    const join: Subject = pieces => drain(transformed(streamOf(pieces.map(content)), new StreamJoiner(true)));
    expect(await superlinear(join, [''], tagUnits)).toEqual([]);
  });

  it('for joining reasoning', async () => {
    const join: Subject = pieces =>
      drain(transformed(streamOf(pieces.map(reasoning => chunkOf({ reasoning }))), new StreamJoiner()));
    expect(await superlinear(join)).toEqual([]);
  });

  it.each([
    {},
    { coalesce_characters: 20, coalesce_ms: 1000 },
    { coalesce_characters: 1_000_000, coalesce_ms: 1000 },
    { split_characters: 10 },
    { split_characters: 300 },
  ])('for rechunking with %p', async options => {
    const stage = streamRechunk(options).plan;
    const rechunk: Subject = pieces => {
      const exchange = sampleExchange({ request: { stream: true } });
      const transformer = stage.create(sampleSetup()).onStream?.(exchange);
      return drain(transformed(streamOf(pieces.map(content)), transformer));
    };
    expect(await superlinear(rechunk)).toEqual([]);
  });

  it.each([
    ['one event', 'data: '],
    ['an event in many lines', 'data: a\ndata: '],
    ['a comment', ': '],
    ['an unknown field', 'x: '],
    ['an error of older servers', 'error: '],
    ['a byte order mark and an error', '\uFEFFerror: '],
    ['a line that ends with CR', 'data: a\rerror: '],
  ])('for parsing events that begin with %s', async (_, start) => {
    const parse: Subject = pieces => {
      const parser = new SseParser(1_048_576);
      parser.feed(start);
      for (const piece of pieces) parser.feed(piece);
      parser.end();
    };
    expect(await superlinear(parse)).toEqual([]);
  });

  it('for reading a stream byte by byte', async () => {
    const read: Subject = pieces => {
      const limits = { max_event_bytes: 1_048_576, max_reply_bytes: 64_000_000 };
      const { reader } = readerOf(new OpenAiStreamDecoder(), limits);
      const text = pieces.map(piece => `data: ${JSON.stringify(content(piece))}\n\n`).join('');
      for (const byte of Buffer.from(text.slice(0, 20_000))) reader.bytes(Buffer.of(byte));
      reader.bytes(Buffer.from(text.slice(20_000)));
    };
    expect(await superlinear(read, [''], anyUnit)).toEqual([]);
  });

  it('for estimating tokens', async () => {
    const newCounter = await loadGptCounter();
    const count: Subject = pieces => {
      const [own, gpt] = [new TokenEstimator(), newCounter()];
      for (const piece of pieces) {
        own.add(piece);
        gpt.add(piece);
      }
    };
    expect(await superlinear(count)).toEqual([]);
  });

  it('for metering running usage', async () => {
    const meter: Subject = pieces => {
      const usage = new UsageMeter(sampleExchange({ request: { stream: true } }));
      usage.begin();
      for (const [at, piece] of pieces.entries()) {
        usage.chunk(content(piece));
        usage.chunk(chunkOf(argumentsOf(piece, at)));
      }
      usage.finish(true);
    };
    expect(await superlinear(meter, [''], anyUnit)).toEqual([]);
  });

  it('for caching the reasoning of turns', async () => {
    const remember: Subject = pieces => {
      const memory = new ReasoningCache<readonly string[]>({ max_characters: 1_000_000, max_age_ms: 60_000 });
      for (const [at, piece] of pieces.entries()) {
        const calls = [
          { id: `call_${at}`, type: 'function' as const, function: { name: 'f', arguments: piece } },
        ];
        memory.keep(calls, [piece]);
        memory.recall(calls);
      }
    };
    expect(await superlinear(remember, [''], anyUnit)).toEqual([]);
  });

  it('for capturing content on spans', async () => {
    const capture: Subject = pieces => {
      const span = { isRecording: () => true, setAttribute: () => span } as never;
      const captured = ContentCapture.of(span, { capture_content: true, max_content_characters: 60_000 }, []);
      for (const piece of pieces) captured!.said(0, { content: piece, reasoning: piece });
      captured!.end();
    };
    expect(await superlinear(capture, [''], anyUnit)).toEqual([]);
  });
});

describe('the cost of decoding a stream is linear in its length', () => {
  const memory = () => new ReasoningCache<never>({ max_characters: 16_000_000, max_age_ms: 60_000 });
  const event = (body: object) => ({ data: JSON.stringify(body) });
  const finish = (reason: string) => event({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
  const chat = (delta: object) => event({ choices: [{ index: 0, delta, finish_reason: null }] });
  const usage = { prompt_tokens: 1, completion_tokens: 1 };
  const decode = (open: () => StreamDecoder, ofPiece: (piece: string, at: number) => object, last: object) =>
    superlinear(
      pieces => {
        const decoder = open();
        for (const [at, piece] of pieces.entries()) decoder.decode(ofPiece(piece, at) as { data: string });
        decoder.decode(last as { data: string });
      },
      [''],
      anyUnit,
    );

  it.each<[string, (piece: string, at: number) => object]>([
    ['text', piece => chat({ content: piece })],
    ['text and usage', piece => event({ choices: [{ index: 0, delta: { content: piece } }], usage })],
    ['arguments of one call', piece => chat(argumentsOf(piece))],
    ['calls', (piece, at) => chat(argumentsOf(piece, at))],
    [
      'calls without index',
      (piece, at) => chat({ tool_calls: [{ id: `call_${at}`, function: { name: piece } }] }),
    ],
    ['choices', (piece, at) => event({ choices: [{ index: at, delta: { content: piece } }], usage })],
    ['reasoning details', piece => chat({ reasoning_details: [{ type: 'reasoning.text', text: piece }] })],
    [
      'reasoning details of ever other keys',
      (piece, at) => chat({ reasoning_details: [{ type: 'reasoning.text', [`key_${at}`]: piece }] }),
    ],
  ])('for %s from OpenAI and OpenRouter', async (_, ofPiece) => {
    const last = finish('tool_calls');
    const openAi = () => new OpenAiStreamDecoder({ usagePerChoice: true, finalUsagePerChoice: true });
    expect(await decode(openAi, ofPiece, last)).toEqual([]);
    expect(await decode(() => new OpenRouterStream(memory()), ofPiece, last)).toEqual([]);
  });

  const block = (type: string, index: number, more: object = {}) =>
    event({ type: 'content_block_start', index, content_block: { type, id: `toolu_${index}`, ...more } });
  const delta = (index: number, of: object) => event({ type: 'content_block_delta', index, delta: of });
  const end = event({ type: 'message_delta', delta: { stop_reason: 'tool_use' } });

  it.each<[string, ReturnType<typeof event>, (piece: string, at: number) => object]>([
    ['text', block('text', 0), piece => delta(0, { type: 'text_delta', text: piece })],
    ['thinking', block('thinking', 0), piece => delta(0, { type: 'thinking_delta', thinking: piece })],
    ['signatures', block('thinking', 0), piece => delta(0, { type: 'signature_delta', signature: piece })],
    ['arguments', block('tool_use', 0), piece => delta(0, { type: 'input_json_delta', partial_json: piece })],
    // As many as a reply may have.
    ['blocks', block('text', 0), (text, at) => block('text', at % 4096, { text })],
    ['calls', block('text', 0), (name, at) => block('tool_use', at % 4096, { name })],
    ['ends', block('tool_use', 0, { name: 'f' }), () => end],
  ])('for %s from Anthropic', async (_, first, ofPiece) => {
    const open = () => {
      const stream = new AnthropicStream(memory());
      stream.decode(first);
      return stream;
    };
    expect(await decode(open, ofPiece, end)).toEqual([]);
  });
});

describe('the cost of writing a stream is linear in its length', () => {
  /** The beginning of arguments, which are an object. */
  const begun = (piece: string) => `{"${piece}`;
  const dialects: Readonly<Record<string, GenerationFormat>> = {
    chat: chatCompletions.create({ reasoning_key: 'both' }, { models: [] }),
    responses: responses.create({ reasoning_placement: 'message' }, { models: [] }),
    messages: messages.create({ enabled: true }, { models: [] }),
    'responses with items': responses.create({ reasoning_placement: 'item' }, { models: [] }),
    'responses with a custom tool': responses.create({ reasoning_placement: 'auto' }, { models: [] }),
  };
  /** As a request keeps it for the responses format, whose custom tool `f` is. */
  const names = new ToolNames();
  names.declare({ kind: 'custom', name: 'f' });
  const custom = { kept: { placement: 'summary', names, encrypts: true } };
  const identity = (dialect = '') => ({
    key: '5f2',
    created: 1_795_132_800,
    model: 'aion-labs/aion-3.5',
    request: sampleRequest({
      stream: true,
      parameters: { logprobs: true },
      ...(dialect === 'responses with a custom tool' && { client: custom }),
    }),
    now_s: () => 1_795_132_801,
  });
  const deltas: Readonly<Record<string, (piece: string, at: number) => Delta>> = {
    text: piece => ({ content: piece }),
    reasoning: piece => ({ reasoning: piece }),
    'reasoning and text by turns': (piece, at) => (at % 2 === 0 ? { reasoning: piece } : { content: piece }),
    'reasoning and details by turns': (piece, at) =>
      at % 2 === 0
        ? { reasoning: piece }
        : { reasoning_details: [{ type: 'reasoning.text', text: `${piece}.`, signature: 's' }] },
    'text and refusals by turns': (piece, at) => (at % 2 === 0 ? { refusal: piece } : { content: piece }),
    'signed reasoning': piece => ({ reasoning_details: [{ type: 'reasoning.text', signature: piece }] }),
    'arguments of one call': (piece, at) => argumentsOf(at === 0 ? begun(piece) : piece),
    'the input of a custom tool': (piece, at) => argumentsOf(at === 0 ? '{"input":"' : piece),
    'arguments of one call and text by turns': (piece, at) =>
      at % 2 === 0 ? argumentsOf(at === 0 ? begun(piece) : piece) : { content: piece },
    calls: (piece, at) => argumentsOf(begun(piece), at),
    'calls of one id': (piece, at) => ({
      tool_calls: [
        { index: at, id: 'call', type: 'function', function: { name: 'f', arguments: begun(piece) } },
      ],
    }),
    'calls without a name': (piece, at) => ({
      tool_calls: [{ index: at, function: { arguments: begun(piece) } }],
    }),
  };

  /** The place of reasoning changes nothing of a stream without any. */
  const isOther = (dialect: string, delta: string) =>
    dialect !== 'responses with items' || delta.includes('reasoning');
  it.each(
    Object.keys(dialects).flatMap(dialect =>
      Object.keys(deltas).flatMap(delta => (isOther(dialect, delta) ? [[dialect, delta] as const] : [])),
    ),
  )('in the format %s for %s', async (dialect, delta) => {
    const render: Subject = pieces => {
      const stream = dialects[dialect]!.renderStream(identity(dialect), () => 0);
      for (const [at, piece] of pieces.entries()) stream.chunk(chunkOf(deltas[delta]!(piece, at)));
      stream.chunk(chunkOf({}, 'length'));
      stream.end();
    };
    expect(await superlinear(render, [''], anyUnit)).toEqual([]);
  });

  it('in the stream writer, also while the client reads nothing', async () => {
    const sink = {
      headersSent: false,
      destroyed: false,
      writeHead: () => sink,
      write: () => true,
      end: () => sink,
      on: (name: string, listener: () => void) => {
        if (name === 'finish') setImmediate(listener);
        return sink;
      },
      off: () => sink,
    };
    const write: Subject = async pieces => {
      const writer = new StreamWriter(
        sampleExchange({ request: { stream: true } }),
        sink as unknown as ReplySink,
        dialects.chat!.renderStream(identity(), () => 0),
        { stream_commit_ms: 10_000, keepalive_ms: 0, slow_client_ms: 10_000 },
      );
      for (const piece of pieces) {
        writer.chunk(content(piece));
        writer.flush();
      }
      await writer.finish();
      writer.close();
    };
    expect(await superlinear(write, [''], anyUnit)).toEqual([]);
  });

  it('in the chain, through stages that read and stages that transform', async () => {
    const generator: Stage = {
      name: 'generator',
      onStream: () =>
        fromGenerator(async function* (chunks) {
          yield* chunks;
        }),
    };
    const doubling: Stage = {
      name: 'doubling',
      onStream: () => ({
        transform(chunk, controller) {
          controller.enqueue(chunk);
          controller.enqueue(chunk);
        },
      }),
    };
    const chain = new Chain([doubling, generator, doubling], new Metrics(new Registry()));
    const pass: Subject = pieces => {
      const passage = chain.enter(sampleExchange({ request: { stream: true } }));
      return drain(through(passage, streamOf(pieces.map(content))));
    };
    expect(await superlinear(pass, [''], anyUnit)).toEqual([]);
  });
});
