import type { Completion } from '../canonical.ts';
import type { Dialect } from './dialect.ts';
import { outputOf, type ReasoningPlacement } from './responses/output-items.ts';
import { parseResponsesRequest } from './responses/request.ts';
import { ResponseObject } from './responses/response-object.ts';
import { ResponseStream } from './responses/stream.ts';

/** `POST /v1/responses` (spec 4.4, 2.5; protocol h). */
export function responses({ reasoning_placement }: { reasoning_placement: ReasoningPlacement }): Dialect {
  return {
    parse: parseResponsesRequest,

    renderReply(identity, { choices, usage }: Completion) {
      const choice = choices[0]!;
      const { logprobs, ...rest } = choice;
      const wanted = identity.request.parameters.logprobs === true ? choice : rest;
      const output = outputOf(wanted, identity.key, reasoning_placement);
      return new ResponseObject(identity).finished(choice.finish_reason, output, usage);
    },

    renderStream: identity => new ResponseStream(identity, reasoning_placement),
  };
}
