import type { StageFactory } from '../src/plugin.ts';
import { aliases } from './stages/aliases/index.ts';
import { auth } from './stages/auth/index.ts';
import { errorEnvelope } from './stages/error-envelope/index.ts';
import { modelAccess } from './stages/model-access/index.ts';
import { rateLimit } from './stages/rate-limit/index.ts';
import { reasoningSplit } from './stages/reasoning-split/index.ts';
import { redact } from './stages/redact/index.ts';
import { requestRewrite } from './stages/request-rewrite/index.ts';
import { responseCache } from './stages/response-cache/index.ts';
import { streamRechunk } from './stages/stream-rechunk/index.ts';
import { validation } from './stages/validation/index.ts';

export {
  aliases,
  auth,
  errorEnvelope,
  modelAccess,
  rateLimit,
  reasoningSplit,
  redact,
  requestRewrite,
  responseCache,
  streamRechunk,
  validation,
};

/**
 * The stages of a chain that lists none: in order for requests, reversed for replies. So a reply is first split into reasoning and answer,
 * then cut into its final chunks.
 */
export const defaultStages: readonly StageFactory[] = [
  errorEnvelope,
  auth,
  validation,
  rateLimit,
  requestRewrite,
  streamRechunk,
  reasoningSplit,
] as unknown as readonly StageFactory[];

/** Every stage that a configuration can name: those of the default chain, and those that only run where they are listed. */
export const builtInStages: readonly StageFactory[] = [
  ...defaultStages,
  aliases,
  modelAccess,
  redact,
  responseCache,
] as unknown as readonly StageFactory[];
