import { z } from 'zod';

/** The option of gateways and chains. */
export const logSample = z
  .number()
  .min(0)
  .max(1)
  .default(1)
  .describe(
    'Share of the lines of successful and refused exchanges that is written, from 0 to 1, at random. A line that stands for others has the share as `sample`: count it as 1/`sample`. Failures, exchanges with a failed attempt and those with a recorded trace always have their line.',
  );

export const logSchema = z.strictObject({
  level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe(
      'At `info` one line for each exchange, refused ones too. At `debug` also a line with the cause of each refusal.',
    ),
  format: z
    .enum(['auto', 'json', 'pretty'])
    .default('auto')
    .describe(
      '`json`: one object per line. `pretty`: one line for people. `auto`: `pretty` on a terminal, else `json`.',
    ),
  sample: logSample,
});
