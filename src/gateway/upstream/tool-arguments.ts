import { isObject, type Json } from '../../common/json-object.ts';
import { jsonSizeOf, max_arguments_size, mayExceed } from '../../common/json-size.ts';
import type { Message, ToolCall } from '../exchange/canonical.ts';
import { invalidField } from '../exchange/errors.ts';

/**
 * Rejects tool calls whose arguments hold more values than a whole request may. Arguments are JSON within a string, which the check of the
 * body does not count; to be called before `toolArguments`.
 */
export function checkToolArguments(messages: readonly Message[]): void {
  const texts = messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map(call => call.function.arguments));
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  if (!mayExceed(characters, max_arguments_size)) return;
  let values = 0;
  let keys = 0;
  for (const text of texts) {
    const size = jsonSizeOf(Buffer.from(text), max_arguments_size);
    values += size.values;
    keys += size.keys;
    if (values <= max_arguments_size.values && keys <= max_arguments_size.keys) continue;
    const most = `${max_arguments_size.values} values and ${max_arguments_size.keys} keys`;
    throw invalidField(
      'messages',
      `the arguments of all tool_calls must have at most ${most} for this model.`,
    );
  }
}

/**
 * The arguments of a tool call as an object, for servers that take no JSON text; `{}` for none. Refuses what is not an object, or cannot be
 * written again; `param` is its field in the request.
 */
export function toolArguments({ function: { arguments: text } }: ToolCall, param: string): Json {
  if (text.trim() === '') return {};
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch {
    // Reported below, with everything else that is not an object.
  }
  if (!isObject(input)) throw invalidField(param, 'must be a JSON object for this model.');
  if (text.length > deep_characters && !isWritable(input)) throw invalidField(param, 'is nested too deeply.');
  return input;
}

/** Text below this length cannot be nested too deeply to be written again. */
const deep_characters = 4000;

/** Whether `input` can be written as JSON, which has a limit of depth that reading has not. */
function isWritable(input: Json): boolean {
  try {
    JSON.stringify(input);
    return true;
  } catch {
    return false;
  }
}
