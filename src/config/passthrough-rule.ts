import { z } from 'zod';
import { isPlainPath } from './passthrough-path.ts';

/** Headers that identify the client or control its connection: never forwarded, whatever is configured. */
const never =
  /^(?:authorization|cookie|x-api-key|host|connection|keep-alive|te|trailer|upgrade|expect|transfer-encoding|proxy-.+|forwarded|x-forwarded-.+|x-real-ip|via)$/;

const positive = z.int().positive();

/** A path beside the interface that is let through to one provider, bytes untouched. */
export const passthroughRuleSchema = z
  .strictObject({
    path: z
      .string()
      .regex(
        /^\/v1(?:\/[A-Za-z0-9._~-]+)+(?:\/\*)?$/,
        'must be a path below /v1, such as /v1/embeddings, or all paths below one, such as /v1/files/*',
      )
      .refine(isPlainPath, 'must not have . or .. between slashes')
      .describe(
        'A path below `/v1`, or all below it with `/*` at the end; `/v1` itself stands for the `base_url`.',
      ),
    methods: z
      .array(z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']))
      .min(1, 'must list at least one method')
      .default(['POST'])
      .describe('Methods that are let through.'),
    provider: z
      .string()
      .optional()
      .describe(
        'A name under `providers`. Without it the body names a model of the catalog that has `passthrough` among its `operations`, and its upstreams are asked one after the other.',
      ),
    max_body_bytes: positive
      .default(536_870_912)
      .describe('The largest request body. It is passed on as it comes and never held in memory.'),
    min_body_bytes_per_second: positive
      .default(1024)
      .describe(
        'The slowest that a request body may come on average once `server.body_timeout_ms` has passed; time in which the upstream does not read is not counted.',
      ),
    forward_headers: z
      .array(
        z
          .string()
          .toLowerCase()
          .refine(
            name => !never.test(name),
            'is never passed on: it belongs to the client or its connection',
          ),
      )
      .default([])
      .describe('Further request headers that are passed on, such as `openai-beta`.'),
  })
  .meta({ shown: true });

export type PassthroughRule = z.output<typeof passthroughRuleSchema>;
