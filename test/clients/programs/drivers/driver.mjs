/** What every driver is told, and how it says what it saw: lines of JSON on standard output. */
export const { CLIENT_URL: url, CLIENT_KEY: key, CLIENT_API: api } = process.env;
export const model = 'aion-labs/aion-3.5';
export const question = process.env.CLIENT_QUESTION;
/** A prompt for which the model calls the tool. */
export const sum = process.env.CLIENT_PROMPT;

/** With a question of the environment nothing but that is asked. */
export const isAskedOnce = question !== undefined;

export const say = (name, value) => process.stdout.write(`${JSON.stringify({ [name]: value })}\n`);

/** The one tool. */
export const addition = {
  name: 'add',
  description: 'Adds two numbers.',
  execute: ({ left, right }) => String(left + right),
};
