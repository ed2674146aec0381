import type { ChatRequest } from '../../../src/plugin.ts';
import type { PlacementOptions, ReasoningPlacement } from './reasoning-placement.ts';
import type { ToolNames } from './tool-names.ts';

/** Form of a response, as its request asks for it. */
export interface ReplyForm {
  readonly placement: ReasoningPlacement;
  /** Names of its tools, if some are called differently upstream. */
  readonly names?: ToolNames;
  /** Whether reasoning items have `encrypted_content`. */
  readonly encrypts?: boolean;
}

/** The form that `parse` has kept with the request; the configuration's for a request that a stage has made. */
export function replyFormOf({ client }: ChatRequest, { reasoning_placement }: PlacementOptions): ReplyForm {
  const placement = reasoning_placement === 'auto' ? 'message' : reasoning_placement;
  return (client?.kept as ReplyForm | undefined) ?? { placement };
}
