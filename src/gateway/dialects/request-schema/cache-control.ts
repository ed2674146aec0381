import { z } from 'zod';
import { isObject } from '../../../common/json-object.ts';
import type { CacheControl } from '../../exchange/canonical.ts';

const accepted = 'must be {type: "ephemeral"}, with ttl as a text if any';

const isCacheControl = (value: unknown): boolean =>
  isObject(value) && value.type === 'ephemeral' && (value.ttl == null || typeof value.ttl === 'string');

/** A mark that the prompt up to here should be cached, in Anthropic's form. */
export const cacheControl = z
  .custom<CacheControl>(isCacheControl, accepted)
  .transform(({ ttl }): CacheControl => ({ type: 'ephemeral', ...(ttl != null && { ttl }) }))
  .nullish();
