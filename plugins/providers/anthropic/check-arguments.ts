import { invalidField, jsonSizeOf, type Message, mayExceed } from '../../../src/plugin.ts';

/** The default limits of a request body. */
const accepted = { values: 300_000, keys: 150_000 };

/**
 * Rejects tool calls whose arguments hold more values than a whole request may. Arguments are JSON within a string, which the check of the
 * body does not count, and this API requires them parsed.
 */
export function checkArguments(messages: readonly Message[]): void {
  const texts = messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map(call => call.function.arguments));
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  if (!mayExceed(characters, accepted)) return;
  let values = 0;
  let keys = 0;
  for (const text of texts) {
    const size = jsonSizeOf(Buffer.from(text), accepted);
    values += size.values;
    keys += size.keys;
    if (values <= accepted.values && keys <= accepted.keys) continue;
    const most = `${accepted.values} values and ${accepted.keys} keys`;
    throw invalidField(
      'messages',
      `the arguments of all tool_calls must have at most ${most} for this model.`,
    );
  }
}
