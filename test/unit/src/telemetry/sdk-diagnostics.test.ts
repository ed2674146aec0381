import { afterEach, describe, expect, it } from '@jest/globals';
import { diag } from '@opentelemetry/api';
import { logSdkDiagnostics } from '../../../../src/telemetry/sdk-diagnostics.ts';
import { capturedLog } from '../../../support/captured-log.ts';

afterEach(() => diag.disable());

/** The log of diagnostics with `OTEL_LOG_LEVEL` set. */
function diagnostics(level?: string) {
  const { log, lines } = capturedLog('debug');
  const environment = { OTEL_LOG_LEVEL: level };
  logSdkDiagnostics(environment, () => log);
  return { lines, environment };
}

describe("diagnostics of OpenTelemetry's SDK", () => {
  it('are warnings of the log, with the message of an error', () => {
    const { lines } = diagnostics();
    diag.error(JSON.stringify({ message: 'connect ECONNREFUSED', code: 'ECONNREFUSED', stack: 'long' }));
    diag.warn('a value is invalid', { more: 1 });
    diag.info('not wanted');
    expect(lines).toMatchObject([
      { level: 40, diagnostic: { message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' } },
      { level: 40, diagnostic: 'a value is invalid', more: [{ more: 1 }] },
    ]);
    expect(lines[0]?.diagnostic).not.toHaveProperty('stack');
  });

  it('are written whatever they are, such as an object that contains itself', () => {
    const { lines } = diagnostics();
    const loop: Record<string, unknown> = { size: 5n };
    loop.loop = loop;
    diag.warn(loop as unknown as string);
    expect(lines).toMatchObject([{ level: 40, msg: "a diagnostic of OpenTelemetry's SDK" }]);
  });

  it.each([
    ['NONE', []],
    ['error', [40]],
    ['Info', [40, 40, 30]],
    ['all', [40, 40, 30, 20, 20]],
    ['a word', [40, 40]],
  ])('are written from OTEL_LOG_LEVEL=%s on, which the SDK does not see', (level, expected) => {
    const { lines, environment } = diagnostics(level);
    expect(environment).not.toHaveProperty('OTEL_LOG_LEVEL');
    for (const method of ['error', 'warn', 'info', 'debug', 'verbose'] as const) diag[method](method);
    expect(
      lines.filter(({ diagnostic }) => !String(diagnostic).startsWith('@')).map(({ level }) => level),
    ).toEqual(expected);
  });

  it('are one line of each kind in ten seconds, whatever number or id is in them', () => {
    const { lines } = diagnostics();
    for (let count = 0; count < 1000; count++)
      diag.warn(`Dropped ${count} spans of 4bf92f3577b34da6a3ce${count}`);
    for (const letter of 'ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ') diag.warn(`kind ${letter}`);
    expect(lines.length).toBeLessThan(40);
    expect(lines.filter(({ diagnostic }) => String(diagnostic).startsWith('Dropped'))).toHaveLength(1);
  });
});
