import { expect, it } from '@jest/globals';
import { unusedExporters } from '../../../../src/telemetry/otel-variables.ts';

it.each([
  ['OTEL_METRICS_EXPORTER', 'otlp', 'scrape /metrics of the admin listener'],
  ['OTEL_METRICS_EXPORTER', 'prometheus', 'scrape /metrics of the admin listener'],
  ['OTEL_LOGS_EXPORTER', 'otlp', 'collect the JSON lines of standard output'],
])('says of %s=%s where what it asks for is to be had', (name, value, where) => {
  expect(unusedExporters({ [name]: value })).toEqual([
    expect.stringMatching(
      new RegExp(`^${name} is '${value}', but .*${where}.*; unset it or set ${name}=none$`),
    ),
  ]);
});

it.each([
  {},
  { OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: ' none ' },
  { OTEL_SDK_DISABLED: 'true', OTEL_METRICS_EXPORTER: 'otlp' },
])('has nothing to say of %j', environment => {
  expect(unusedExporters(environment)).toEqual([]);
});
