import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { SpanKind } from '@opentelemetry/api';
import { version } from '../../src/common/version.ts';
import { PrintingProcess } from '../support/printing-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const application = fileURLToPath(new URL('../fixtures/traced-application.ts', import.meta.url));

/** What the application prints that starts tracing through `copy` of the API, which is none that sluice loads. */
async function printedWith(copy: string, when: string): Promise<string> {
  const args = ['--conditions=sluice-source', application, copy, when];
  const child = new PrintingProcess(process.execPath, args, { cwd: root });
  expect([await child.exited, child.stderr]).toEqual([0, '']);
  return child.stdout;
}

it.each(['before', 'after-a-request'])(
  'records spans through a second copy of the API, when tracing is started %s',
  async when => {
    const printed = await printedWith('@opentelemetry/api', when);
    expect(printed).toMatch(/spans: \[.*"GET \/v1\/models"\]/);
    const [, facts = '{}'] = /^GET \/v1\/models: (.*)$/m.exec(printed) ?? [];
    expect(JSON.parse(facts)).toMatchObject({
      kind: SpanKind.SERVER,
      instrumentationScope: { name: 'sluice', version, schemaUrl: expect.stringContaining('/schemas/') },
      attributes: {
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'url.path': '/v1/models',
        'sluice.end_reason': 'completed',
      },
    });
    expect(printed).not.toContain('no spans are recorded');
  },
);

it('warns once that an older copy of the API loses all spans', async () => {
  const printed = await printedWith('opentelemetry-api-1.9', 'before');
  expect(printed).toContain('spans: []\n');
  expect(
    printed.match(/no spans are recorded: tracing was started through @opentelemetry\/api 1\.9\.0/g),
  ).toHaveLength(1);
});
