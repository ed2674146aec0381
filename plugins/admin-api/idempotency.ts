import { createHmac, hkdfSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type ExtensionContext,
  hashKey,
  type IdempotentRequest,
  type IdempotentRequests,
  RequestRepeated,
} from '../../src/plugin.ts';
import { apiError } from './api-error.ts';
import type { Reply } from './route.ts';
import { opened, sealed } from './sealed-text.ts';

/** How long the answer of the same request is waited for, which another instance may be about to keep. */
const patience_ms = 2000;
const poll_ms = 50;

interface Sent {
  readonly incoming: IncomingMessage;
  readonly caller: { readonly id: string; readonly secret: string };
  /** What the request asks for: method, path, query and body. */
  readonly content: readonly unknown[];
}

/** A request whose idempotency key is known, with the secret that its answer is encrypted with. */
interface Known extends IdempotentRequest {
  readonly secret: Buffer;
}

/**
 * Carries out requests that have an `Idempotency-Key` once, at whatever instance. Answers are kept for those who repeat a request; encrypted
 * with what the sender's own key makes, which the store does not have, because an answer may have the text of a new key.
 */
export class Idempotency {
  readonly #context: ExtensionContext;

  constructor(context: ExtensionContext) {
    this.#context = context;
  }

  /** What `act` answers, or what it has answered to the same request before. `act` has to record what it is given with its change. */
  async answer(
    sent: Sent,
    act: (once?: IdempotentRequest) => Promise<Reply<unknown>>,
  ): Promise<Reply<unknown>> {
    const key = sent.incoming.headers['idempotency-key'];
    if (key === undefined) return act();
    if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key))
      throw refusedKey('must have 1 to 255 characters of ASCII');
    const { requests } = this.#context.records.store;
    if (!requests) throw refusedKey('is not taken: this records store keeps no requests');
    const request = knownAs(key, sent);
    const before = await this.#answerTo(requests, request);
    if (before) return before;
    const { id, fingerprint } = request;
    try {
      const reply = await act({ id, fingerprint });
      await this.#keep(requests, request, reply);
      return reply;
    } catch (thrown) {
      const other = thrown instanceof RequestRepeated && (await this.#answerTo(requests, request));
      if (other) return other;
      throw thrown;
    }
  }

  /** The answer that is kept, once it is; undefined for a request that was not carried out. */
  async #answerTo(requests: IdempotentRequests, request: Known): Promise<Reply<unknown> | undefined> {
    const { clock } = this.#context;
    const until_ms = clock.elapsed_ms() + patience_ms;
    for (;;) {
      const found = await requests.find(request.id, clock.epoch_ms());
      if (!found) return undefined;
      if (found.fingerprint !== request.fingerprint) throw apiError('idempotency_key_reused');
      if (found.answer !== null)
        return { ...(JSON.parse(opened(found.answer, request.secret)) as Reply<unknown>), isReplay: true };
      if (clock.elapsed_ms() > until_ms)
        throw apiError('answer_lost', {
          message: `This request was carried out and has made or changed ${found.target}, but its answer is not kept.`,
        });
      await pause(poll_ms);
    }
  }

  /** The change is made: that a repeated request will not have this answer is no reason to refuse it. */
  async #keep(requests: IdempotentRequests, { id, secret }: Known, reply: Reply<unknown>): Promise<void> {
    await requests.keep(id, sealed(JSON.stringify(reply), secret)).catch(err => {
      this.#context.log.warn({ err }, 'failed to keep the answer of a request to the Admin API');
    });
  }
}

function knownAs(key: string, { caller, content }: Sent): Known {
  const secret = Buffer.from(hkdfSync('sha256', caller.secret, key, 'sluice admin-api answer', 32));
  const fingerprint = createHmac('sha256', secret).update(JSON.stringify(content)).digest('hex');
  return { id: hashKey(`${caller.id} ${key}`), fingerprint, secret };
}

const refusedKey = (problem: string) =>
  apiError('invalid_request', { message: `Idempotency-Key ${problem}.`, param: 'Idempotency-Key' });
