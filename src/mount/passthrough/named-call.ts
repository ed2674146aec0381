import type { IncomingMessage } from 'node:http';
import type { BodyLimits } from '../../gateway/inbound/body-limits.ts';
import type { BufferedBody } from '../../gateway/inbound/buffered-bytes.ts';
import { parseBody } from '../../gateway/inbound/read-body.ts';
import { formField, RequestMeter } from './request-meter.ts';

/** A call whose body was read whole, to be sent to one upstream after another under the name that each has for its model. */
export class NamedCall {
  /** The model that the body names; undefined if it names none, or is compressed. */
  readonly model: string | undefined;
  readonly #bytes: Buffer;
  readonly #isForm: boolean;
  readonly #limits: BodyLimits;
  readonly #held: BufferedBody;

  constructor({ headers }: IncomingMessage, bytes: Buffer, limits: BodyLimits, held: BufferedBody) {
    const meter = new RequestMeter(headers);
    meter.write(bytes);
    this.model = meter.model;
    this.#bytes = bytes;
    this.#isForm = meter.isForm;
    this.#limits = limits;
    this.#held = held;
  }

  /** The body with `name` as its model; untouched if that is the name it has. */
  bodyFor(name: string): Buffer {
    if (name === this.model) return this.#bytes;
    if (!this.#isForm) {
      const body = parseBody(this.#bytes, this.#limits, this.#held);
      return Buffer.from(JSON.stringify({ ...body, model: name }));
    }
    const { from, to } = formField(this.#bytes)!;
    return Buffer.concat([this.#bytes.subarray(0, from), Buffer.from(name), this.#bytes.subarray(to)]);
  }
}
