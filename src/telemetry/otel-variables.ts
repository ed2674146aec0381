/** Variables of the environment, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
];
const protocols = ['http/protobuf', 'http/json', 'grpc'];

/** Variables whose value is one of a list. The SDK would warn of another one, and go on with its default. */
const choices: Readonly<Record<string, readonly string[]>> = {
  OTEL_TRACES_SAMPLER: samplers,
  OTEL_EXPORTER_OTLP_PROTOCOL: protocols,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocols,
};

/** Variables whose value is a comma-separated list of names, or `none` alone. */
const lists: Readonly<Record<string, readonly string[]>> = {
  OTEL_TRACES_EXPORTER: ['otlp', 'console', 'zipkin'],
  OTEL_PROPAGATORS: ['tracecontext', 'baggage', 'b3', 'b3multi'],
};

const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

/** The SDK would drop all of them for one mistake. */
const attributes = 'OTEL_RESOURCE_ATTRIBUTES';

/** Signals that the SDK does not export here, and where they are instead. */
const elsewhere: Readonly<Record<string, string>> = {
  OTEL_METRICS_EXPORTER:
    'metrics are not exported by OpenTelemetry: scrape /metrics of the admin listener, with Prometheus or with the prometheus receiver of a collector',
  OTEL_LOGS_EXPORTER:
    'logs are not exported by OpenTelemetry: collect the JSON lines of standard output, with the filelog receiver of a collector for example',
};

/** The value of a variable without spaces around it; empty for one that is not set. */
export const given = (environment: Environment, name: string): string => environment[name]?.trim() ?? '';

/** The value of `OTEL_EXPORTER_OTLP_…` of traces alone, or else of all signals. */
export const ofTraces = (environment: Environment, name: string): string =>
  given(environment, `OTEL_EXPORTER_OTLP_TRACES_${name}`) || given(environment, `OTEL_EXPORTER_OTLP_${name}`);

/** Whether the environment switches OpenTelemetry off. */
export const isDisabled = (environment: Environment): boolean =>
  given(environment, 'OTEL_SDK_DISABLED').toLowerCase() === 'true';

/**
 * One sentence for each of the variables that asks for an exporter of metrics or logs; `none` asks for nothing. A warning and no mistake: an
 * environment is often the same for all programs of a cluster.
 */
export function unusedExporters(environment: Environment): string[] {
  if (isDisabled(environment)) return [];
  return Object.entries(elsewhere).flatMap(([name, where]) => {
    const value = given(environment, name);
    return value === '' || value === 'none'
      ? []
      : [`${name} is '${value}', but ${where}; unset it or set ${name}=none`];
  });
}

/** One sentence for each of the variables about traces that has a value which is not accepted: its name, the value, and what is. */
export function traceMistakes(environment: Environment): string[] {
  const told = (name: string, accepted: string) =>
    `${name} must be ${accepted}; it is '${given(environment, name)}'`;
  const isGiven = (name: string) => given(environment, name) !== '';
  const isOne = (name: string) => choices[name]!.includes(given(environment, name));
  return [
    ...Object.keys(choices)
      .filter(name => isGiven(name) && !isOne(name))
      .map(name => told(name, `one of ${choices[name]!.join(', ')}`)),
    ...Object.keys(lists)
      .filter(name => isGiven(name) && !isList(given(environment, name), lists[name]!))
      .map(name =>
        told(name, `one or more of ${lists[name]!.join(', ')}, with commas between them, or none`),
      ),
    ...endpoints
      .filter(name => isGiven(name) && !isEndpoint(given(environment, name), isGrpc(environment)))
      .map(name => told(name, 'a URL that begins with http:// or https://, such as http://collector:4318')),
    ...(isAttributes(given(environment, attributes))
      ? []
      : [told(attributes, 'a list key=value,key=value, with other commas and equals signs as %2C and %3D')]),
    ...(isRatio(environment) ? [] : [told('OTEL_TRACES_SAMPLER_ARG', 'a number from 0 to 1')]),
  ];
}

const isList = (value: string, accepted: readonly string[]): boolean =>
  value === 'none' || value.split(',').every(name => accepted.includes(name.trim()));

const isGrpc = (environment: Environment): boolean => ofTraces(environment, 'PROTOCOL') === 'grpc';

/** Whether the exporter can send to `value`; for gRPC, also a host and port alone. */
const isEndpoint = (value: string, grpc: boolean): boolean =>
  (/^https?:\/\/[^/?#]/i.test(value) && URL.canParse(value)) || (grpc && /^[\w.-]+:\d{1,5}$/.test(value));

const isAttributes = (value: string): boolean =>
  value.split(',').every(pair => pair.trim() === '' || isAttribute(pair.trim()));

function isAttribute(pair: string): boolean {
  try {
    return /^[^=]{1,255}=[^=]{0,255}$/.test(pair) && decodeURIComponent(pair) !== '';
  } catch {
    return false;
  }
}

function isRatio(environment: Environment): boolean {
  const value = given(environment, 'OTEL_TRACES_SAMPLER_ARG');
  const isRead = given(environment, 'OTEL_TRACES_SAMPLER').endsWith('traceidratio');
  return value === '' || !isRead || (Number(value) >= 0 && Number(value) <= 1);
}
