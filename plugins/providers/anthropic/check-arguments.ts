import { invalidField, jsonSizeOf, type Message, mayExceed } from '../../../src/plugin.ts';

/** As many as a request body may have by default. */
const accepted = { values: 300_000, keys: 150_000 };

/**
 * Refuses tool calls whose arguments hold more values than a whole request may. They are JSON within a string, where the count of the
 * body's values does not look, and this API wants them parsed.
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
