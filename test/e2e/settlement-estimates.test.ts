import { afterEach, describe, expect, it } from '@jest/globals';
import { countTokens, decode, encode } from 'gpt-tokenizer/encoding/o200k_base';
import { completion, finished, said } from '../support/hostile-setting.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';
import { closeBalanced, openBooks } from '../support/settlement.ts';
import { doneSeen, expectNear } from '../support/settlement-answer.ts';

afterEach(closeBalanced);

/** Answers of 150 to 250 tokens. */
const texts: Readonly<Record<string, string>> = {
  English: `A river bends because its flow is never even. Where the current is faster, it wears the bank away; where it is slower, it drops its sand. Each bend sharpens the next one: the outer bank retreats, the inner bank grows, and within a few centuries a straight channel has become a chain of loops. Geologists call them meanders, after the Büyük Menderes in south-western Turkey.

Three things decide how quickly that happens:

1. **Discharge**: about 80 % of the erosion takes place on the 10 to 15 days a year when the water is highest.
2. **Slope**: below 0.5 m per kilometre a river meanders; above 5 m it usually braids.
3. **Vegetation**: willows, alders and reeds hold a bank together, so it retreats by 0.2 m a year instead of 2 m.

Now and then a flood breaks through the neck of a loop, and an oxbow lake remains.`,
  code: `interface Entry<V> {
  value: V;
  expires_ms: number;
}

/** Keeps what was computed for a while, and forgets the oldest first. */
export class Cache<K, V> {
  readonly #entries = new Map<K, Entry<V>>();
  readonly #capacity: number;
  readonly #ttl_ms: number;

  constructor(capacity: number, ttl_ms: number) {
    if (capacity < 1) throw new RangeError('capacity must be at least 1');
    this.#capacity = capacity;
    this.#ttl_ms = ttl_ms;
  }

  async get(key: K, compute: (key: K) => Promise<V>): Promise<V> {
    const known = this.#entries.get(key);
    if (known && known.expires_ms > Date.now()) return known.value;
    const value = await compute(key);
    this.#entries.set(key, { value, expires_ms: Date.now() + this.#ttl_ms });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#capacity) break;
      this.#entries.delete(oldest);
    }
    return value;
  }
}
`,
  Russian: `Когда клиент обрывает поток (TCP FIN или RST), шлюз обязан остановить генерацию: вызвать \`AbortController.abort()\`, закрыть соединение с vLLM и записать расход токенов. Если сервер уже прислал \`usage\`, берётся его число; если нет – считаются символы полученного текста. Ошибка 502 до первого события означает, что платить не за что. После \`finish_reason\` и \`[DONE]\` обрыв ничего не меняет: запись о запросе уже полная. Для запросов без \`stream: true\` действует другое правило: ответ дочитывается до конца в фоне, но не дольше 15 минут и не более 256 штук сразу.`,
  Chinese: `当客户端中途断开连接（TCP FIN 或 RST）时，网关必须立刻停止生成：调用 \`AbortController.abort()\`，关闭与 vLLM 的连接，并记录已经使用的 token 数量。如果服务器已经返回了 \`usage\`，就以它的数字为准；如果没有，就根据收到的文本进行估算。在第一个事件之前出现 502 错误，说明不需要付费。收到 \`finish_reason\` 和 \`[DONE]\` 之后再断开，不会有任何影响，因为这次请求的记录已经完整。对于没有设置 \`stream: true\` 的请求，规则有所不同：网关会在后台继续读取回复，但最多不超过 15 分钟，同时进行的数量也不超过 256 个。`,
};

/** Pieces that are tokens, as those of inference servers are; those whose bytes end within a character go together. */
function tokensOf(text: string): string[] {
  const pieces: string[] = [];
  let pending: number[] = [];
  for (const token of encode(text)) {
    pending.push(token);
    const piece = decode(pending);
    if (piece.includes('\uFFFD')) continue;
    pieces.push(piece);
    pending = [];
  }
  return pieces;
}

const grouped = (pieces: readonly string[], size: number): string[] =>
  pieces.flatMap((_, at) => (at % size === 0 ? [pieces.slice(at, at + size).join('')] : []));

/** How an upstream may send its answer. */
const ways: readonly { way: string; cut?: (text: string) => string[] }[] = [
  { way: 'not streamed' },
  { way: 'streamed token by token', cut: tokensOf },
  { way: 'streamed four tokens at a time', cut: text => grouped(tokensOf(text), 4) },
  { way: 'streamed word by word', cut: text => text.match(/\s*\S+|\s+$/g) ?? [] },
];

describe.each(['characters', 'gpt-tokenizer'] as const)('the estimator %s', estimator => {
  it.each(ways)('is within 15 % when the upstream reports no usage, $way', async ({ cut }) => {
    await Promise.all(
      Object.values(texts).map(async text => {
        const books = await openBooks({ adapter: 'openai', config: { usage: { estimator } } });
        expect((cut?.(text) ?? [text]).join('')).toBe(text);
        books.upstream.reply(
          cut
            ? streamed(events(...cut(text).map(said), finished(), '[DONE]'))
            : whole(200, completion(text, {}, { usage: undefined })),
        );
        const messages = [{ role: 'user', content: text }];
        const asked = books.ask({ stream: cut !== undefined, messages });
        await asked.connection.received(cut ? doneSeen : /\}$/);
        const { usage } = await asked.settled();
        expect(usage).toMatchObject({ cached_tokens: 0, estimated: true });
        expectNear(usage.completion_tokens, countTokens(text));
        expectNear(usage.prompt_tokens, countTokens(text) + 4);
        expect(asked.connection.text).toContain(`"completion_tokens":${usage.completion_tokens},`);
      }),
    );
  });
});

describe('the estimator gpt-tokenizer', () => {
  it('is exact over whole texts and when pieces are its tokens', async () => {
    const config = { usage: { estimator: 'gpt-tokenizer' } } as const;
    const books = await openBooks({ adapter: 'openai', config });
    for (const text of Object.values(texts)) {
      books.upstream.reply(streamed(events(...tokensOf(text).map(said), finished(), '[DONE]')));
      const asked = books.ask({ stream: true });
      const { usage } = await asked.settled();
      expect(usage.completion_tokens).toBe(countTokens(text));
    }
  });

  it('counts what was sent to a client that leaves', async () => {
    const config = { usage: { estimator: 'gpt-tokenizer' } } as const;
    const books = await openBooks({ adapter: 'openai', config });
    const pieces = tokensOf(texts.English!).slice(0, 100);
    books.upstream.reply(streamed(events(...pieces.map(said))).subarray(0, -5));
    const asked = books.ask({ stream: true });
    await asked.connection.received(new RegExp(JSON.stringify(pieces.at(-1)).replaceAll(/[^\w" ]/g, '.')));
    asked.connection.destroy();
    const { usage, end_reason } = await asked.settled();
    expect({ end_reason, tokens: usage.completion_tokens }).toEqual({
      end_reason: 'client_gone',
      tokens: 100,
    });
  });

  const isContinuous = { stream: true, stream_options: { continuous_usage_stats: true } };

  it.each([{}, { stream: true }, isContinuous])(
    'treats what looks like a control token as text: %j',
    async more => {
      const config = { usage: { estimator: 'gpt-tokenizer' } } as const;
      const books = await openBooks({ adapter: 'openai', config });
      const text = 'It ends with <|endoftext|> and begins with <|im_start|>.';
      books.upstream.reply(
        'stream' in more
          ? streamed(events(...tokensOf(texts.English!).map(said), said(text), finished(), '[DONE]'))
          : whole(200, completion(`${texts.English}${text}`, {}, { usage: undefined })),
      );
      const asked = books.ask({ ...more, messages: [{ role: 'user', content: `${texts.English}${text}` }] });
      const { usage, end_reason } = await asked.settled();
      expect(end_reason).toBe('completed');
      expectNear(usage.completion_tokens, countTokens(texts.English!) + 15);
      expectNear(usage.prompt_tokens, countTokens(texts.English!) + 19);
    },
  );

  it('stays fast on text without spaces', async () => {
    const config = { usage: { estimator: 'gpt-tokenizer' } } as const;
    const books = await openBooks({ adapter: 'openai', config });
    books.upstream.reply(whole(200, completion('Yes.', {}, { usage: undefined })));
    const asked = books.ask({ messages: [{ role: 'user', content: 'a'.repeat(200_000) }] });
    const { usage, timings } = await asked.settled();
    expectNear(usage.prompt_tokens, 25_000);
    expect(timings.duration_ms).toBeLessThan(5000);
  });
});
