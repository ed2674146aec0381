import { randomId } from '../../common/ids.ts';
import type { Identity } from '../dialects/define-dialect.ts';
import { type Choice, type Completion, type Usage, usageOf } from '../exchange/canonical.ts';
import type { Exchange } from '../exchange/exchange.ts';

/** Applies to a whole reply what the protocol promises with any stages: usage, and null content only beside tool calls. */
export function shapeReply(exchange: Exchange, reply: Completion): Completion {
  const { choices, usage } = reply;
  return { choices: choices.map(withContent), usage: usage ? withTotal(usage) : shownUsage(exchange) };
}

/** Usage that a stage may have changed, with the total of its parts. */
function withTotal(usage: Usage): Usage {
  const total_tokens = usage.prompt_tokens + usage.completion_tokens;
  return usage.total_tokens === total_tokens ? usage : { ...usage, total_tokens };
}

function withContent(choice: Choice): Choice {
  const { message } = choice;
  if (typeof message.content === 'string') return choice;
  return { ...choice, message: { ...message, content: message.tool_calls?.length ? null : '' } };
}

/** Usage as shown in replies and chunks: the same keys everywhere. */
export function shownUsage({ usage }: Pick<Exchange, 'usage'>): Usage {
  const { prompt_tokens, completion_tokens, cached_tokens, completion_details, cache_creation_tokens } =
    usage;
  return usageOf(prompt_tokens, completion_tokens, cached_tokens, completion_details, cache_creation_tokens);
}

/** The id, time and model of the reply, in place of the upstream's own. */
export function identityOf({ clock, request, reply_model }: Exchange): Identity {
  const now_s = () => Math.floor(clock.epoch_ms() / 1000);
  return { key: randomId(), created: now_s(), model: reply_model ?? request.model, request, now_s };
}
