import { isObject, type Json } from '../../src/plugin.ts';

/**
 * The last response of a connection with all that was before it, so that a request need bring only what is new. Kept as JSON text, which is
 * the smallest form.
 */
export class LastResponse {
  readonly #max_bytes: number;
  #id: string | undefined;
  /** Whether the gateway has stored it. */
  isStored = false;
  /** Items with commas between them. */
  #items = '';
  #bytes = 0;

  constructor(max_bytes: number) {
    this.#max_bytes = max_bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  forget(): void {
    this.#id = undefined;
    this.#items = '';
    this.#bytes = 0;
    this.isStored = false;
  }

  /** Whether a request goes on from what is remembered. */
  isContinuedBy({ previous_response_id }: Json): boolean {
    return this.#id !== undefined && previous_response_id === this.#id;
  }

  /** All items of a request's input, those before it included; undefined if it has none. */
  inputOf(body: Json): string | undefined {
    const { input } = body;
    const given = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
    if (!Array.isArray(given)) return undefined;
    return joined(this.isContinuedBy(body) ? this.#items : '', given);
  }

  /** Remembers a response with the input of its request, unless that is too large. */
  remember({ id, output, store }: Json, input: string): void {
    this.forget();
    const items = joined(input, Array.isArray(output) ? output.filter(isObject) : []);
    const bytes = Buffer.byteLength(items);
    if (typeof id !== 'string' || bytes > this.#max_bytes) return;
    this.#id = id;
    this.#items = items;
    this.#bytes = bytes;
    this.isStored = store === true;
  }
}

function joined(items: string, further: readonly unknown[]): string {
  const text = JSON.stringify(further).slice(1, -1);
  return items && text ? `${items},${text}` : items || text;
}

/** The body of a request with all items of its input, as it is sent by HTTP. */
export function bodyWith({ previous_response_id: _, input: __, ...fields }: Json, input: string): string {
  return `{"input":[${input}],${JSON.stringify({ ...fields, stream: true }).slice(1)}`;
}
