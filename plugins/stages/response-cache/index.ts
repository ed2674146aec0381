import { z } from 'zod';
import {
  chunkOf,
  defineKey,
  defineStage,
  modelBeforeFallback,
  type StageFactory,
  usageOf,
} from '../../../src/plugin.ts';
import { CachedReply, replyIn } from './cached-reply.ts';
import type { ResponseCacheOptions } from './options.ts';
import { requestKey } from './request-key.ts';

const schema = z.strictObject({
  ttl_s: z.int().min(1).max(2_592_000).default(3600).describe('Seconds for which a reply is used.'),
  shared: z
    .boolean()
    .default(false)
    .describe('Give replies to all accounts, not only to the one that asked.'),
  deterministic_only: z.boolean().default(false).describe('Only cache with `temperature: 0` or a `seed`.'),
  bill_hits: z.boolean().default(false).describe('Bill a cached reply like the first; otherwise as nothing.'),
  max_characters: z.int().min(1).max(1_000_000).default(262_144).describe('The largest reply to cache.'),
});

/** Answers requests from the cache. Last in the chain, so that a cached reply passes the other stages as the upstream's does. */
export const responseCache: StageFactory<ResponseCacheOptions> = defineStage({
  name: 'response-cache',
  schema,
  create({ ttl_s, shared, deterministic_only, bill_hits, max_characters }, { cache, metrics }) {
    /** The reply to a request that the cache had none to. */
    const missed = defineKey<CachedReply>('response-cache');
    const requests = metrics.counter({
      name: 'requests_total',
      help: 'Requests with a reply in the cache (hit), without one (miss), and that are not cached (bypass).',
      labels: ['result'],
      initial: [['hit'], ['miss'], ['bypass']],
    });
    const stored = metrics.counter({
      name: 'stored_bytes_total',
      help: 'Bytes of replies that were stored.',
    });

    return {
      takesTokens: true,
      async onRequest(exchange) {
        const { request, account, headers, replyHeaders, endpoint } = exchange;
        const directives = (headers['cache-control'] ?? '').toLowerCase().split(/[\s,]+/);
        const isDeterministic = request.temperature === 0 || request.parameters.seed !== undefined;
        const mayCache = (shared || account) && (isDeterministic || !deterministic_only);
        // Such as a count of tokens or embeddings, which are no reply to store.
        if (endpoint.generates === false || request.operation) return;
        if (!mayCache || directives.includes('no-store')) return requests.labels('bypass').inc();
        const key = requestKey(request, shared ? 'all' : { account: account?.id });
        const reply = directives.includes('no-cache') ? undefined : replyIn(await cache.get(key));
        const result = reply ? 'hit' : 'miss';
        replyHeaders['x-cache'] = result;
        requests.labels(result).inc();
        if (!reply) return exchange.set(missed, new CachedReply(key, max_characters));
        // The usage of an answer is billed, and the client sees what is billed. A streaming client gets chunks.
        return bill_hits ? reply : { ...reply, usage: usageOf(0, 0) };
      },

      onReply(exchange, reply) {
        exchange.get(missed)?.transform(chunkOf(reply));
        return reply;
      },

      onStream: exchange => exchange.get(missed),

      // Only now it is known that the reply was complete, that the client has it, and what was billed.
      onSettled(exchange, { end_reason, usage }) {
        const reply = exchange.get(missed);
        // Of another model that took its place it is not the answer to this request.
        const isOwn = exchange.get(modelBeforeFallback) === undefined;
        const text = end_reason === 'completed' && isOwn && reply?.text(usage);
        if (!reply || !text) return;
        stored.labels().inc(Buffer.byteLength(text));
        void cache.set(reply.key, text, ttl_s * 1000);
      },
    };
  },
});
