import { batchText, embeddingsText } from './embeddings.ts';

/** What the upstream answers, in vLLM's shape and encoded beforehand: about 1.5 kB whole, 300 bytes an event. */

const identity = (object: string) =>
  `"id":"chatcmpl-5f0c6c1e9d7b4a3f8e2d1c0b9a887766","object":"${object}","created":1795132800,"model":"aion-3.5"`;

/** The text of a whole reply, which the benchmark looks for in what contestants deliver. */
export const answer =
  'She needs about four kilograms of fine sand, which is what a baking tray holds two fingers deep. Wet it, press it flat, ' +
  'and raise one end of the tray by the thickness of a book. With a finger she draws a straight channel with one slight ' +
  'curve in it, and then lets the water run from the hose into the upper end, as thin as a pencil.\n\nThe class should watch ' +
  'the curve and not the straight part. Within two minutes the outer bank becomes steep and falls in, and the sand from ' +
  'there lies down on the inner bank a little further below. After five minutes there is a second curve, to the other side, ' +
  'although nobody has drawn one. A few grains of coloured sand on the outer bank show the way that the soil takes.\n\nShe ' +
  'should try it once at home with the jug in place of the hose: too much water makes one broad channel, and nothing bends ' +
  'any more. More experiments of this kind are on shelf 551.48, near the maps.';

const prompt_tokens = 297;

export const completionText =
  `{${identity('chat.completion')},"choices":[{"index":0,"message":{"role":"assistant","content":${JSON.stringify(answer)},` +
  '"refusal":null,"annotations":null,"audio":null,"function_call":null,"tool_calls":[],"reasoning":null},"logprobs":null,' +
  '"finish_reason":"stop","stop_reason":null,"token_ids":null}],"service_tier":null,"system_fingerprint":null,' +
  `"usage":{"prompt_tokens":${prompt_tokens},"total_tokens":${prompt_tokens + 231},"completion_tokens":231,` +
  '"prompt_tokens_details":null},"prompt_logprobs":null,"prompt_token_ids":null,"kv_transfer_params":null}';

/** A whole reply with its head. */
const whole = (text: string): Buffer =>
  Buffer.from(
    'HTTP/1.1 200 OK\r\ndate: Mon, 16 Nov 2026 12:00:00 GMT\r\nserver: uvicorn\r\ncontent-type: application/json\r\n' +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );

export const completion = whole(completionText);
export const embeddings = whole(embeddingsText);
export const embeddingsBatch = whole(batchText);

const streamHead =
  'HTTP/1.1 200 OK\r\ndate: Mon, 16 Nov 2026 12:00:00 GMT\r\nserver: uvicorn\r\n' +
  'content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n';

/** Which usage a stream was asked for; vLLM gives running usage only together with the final one. */
export interface AskedUsage {
  readonly include_usage: boolean;
  readonly continuous_usage_stats: boolean;
}

/** The writes of a stream one after the other; the same buffers for every stream that asks alike. */
export class Script {
  readonly #asked: AskedUsage;
  readonly #words = answer.split(/(?<= )/);
  readonly #written: Buffer[] = [];

  constructor(asked: AskedUsage) {
    this.#asked = asked;
  }

  /** The write that carries `tokens` tokens in all: the role with the head for 0, one word each after that. */
  at(tokens: number): Buffer {
    return (this.#written[tokens] ??= Buffer.from(
      tokens === 0 ? streamHead + this.#delta(0, { role: 'assistant', content: '' }) : this.#word(tokens),
    ));
  }

  /** Finish, usage and `[DONE]`, as they leave a server: together. */
  end(tokens: number): Buffer {
    const { include_usage } = this.#asked;
    const usage = `data: {${identity('chat.completion.chunk')},"choices":[],"usage":${usageText(tokens)}}\n\n`;
    const last = (include_usage ? part(usage) : '') + part('data: [DONE]\n\n');
    return Buffer.from(`${this.#delta(tokens, {}, 'stop')}${last}0\r\n\r\n`);
  }

  #word(tokens: number): string {
    return this.#delta(tokens, { content: this.#words[tokens % this.#words.length] });
  }

  #delta(tokens: number, delta: object, finish_reason: string | null = null): string {
    const running = this.#asked.continuous_usage_stats ? `,"usage":${usageText(tokens)}` : '';
    return part(
      `data: {${identity('chat.completion.chunk')},"choices":[{"index":0,"delta":${JSON.stringify(delta)},"logprobs":null,` +
        `"finish_reason":${JSON.stringify(finish_reason)},"token_ids":null}]${running}}\n\n`,
    );
  }
}

const usageText = (tokens: number): string =>
  `{"prompt_tokens":${prompt_tokens},"total_tokens":${prompt_tokens + tokens},"completion_tokens":${tokens}}`;

/** One part of a chunked body. */
const part = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
