import { once } from 'node:events';
import { connect } from 'node:http2';
import { decodePath } from '../../common/decode-path.ts';
import { type Finding, finding } from '../../common/finding.ts';
import { within } from '../../common/within.ts';
import { ask_ms, askServer, faultOf, noAnswer } from '../../mount/provider-check/ask-server.ts';
import { refusalOf } from '../../mount/provider-check/list-models.ts';
import {
  type Environment,
  given,
  ofTraces,
  traceMistakes,
  unusedExporters,
} from '../../telemetry/otel-variables.ts';
import { isTracingWanted } from '../../telemetry/sdk.ts';

const { fault, ok, warning } = finding;

const thing = 'OTLP collector';

/** Reaches the collector that the `OTEL_*` variables name, with a request without spans. */
export async function checkCollector(environment: Environment): Promise<Finding[]> {
  const unused = unusedExporters(environment).map(found =>
    warning(thing, found, 'correct the variable, or leave it as it is'),
  );
  return [...unused, ...(await checkTraces(environment))];
}

async function checkTraces(environment: Environment): Promise<Finding[]> {
  if (!isTracingWanted(environment))
    return [ok(thing, 'no traces are asked for: OTEL_EXPORTER_OTLP_ENDPOINT is not set')];
  const mistakes = traceMistakes(environment);
  if (mistakes.length > 0) return mistakes.map(mistake => fault(thing, mistake, 'correct the variable'));
  const hasSdk = await import('@opentelemetry/sdk-node').then(
    () => true,
    () => false,
  );
  if (!hasSdk)
    return [
      fault(
        thing,
        "traces are asked for, and OpenTelemetry's SDK cannot be loaded",
        'npm install @opentelemetry/sdk-node',
      ),
    ];
  const exporters = given(environment, 'OTEL_TRACES_EXPORTER') || 'otlp';
  if (!exporters.split(',').some(name => name.trim() === 'otlp'))
    return [ok(thing, `traces go to ${exporters}, which is not reached by doctor`)];
  const protocol = ofTraces(environment, 'PROTOCOL') || 'http/protobuf';
  return [await (protocol === 'grpc' ? checkGrpc(environment) : checkHttp(environment, protocol))];
}

async function checkHttp(environment: Environment, protocol: string): Promise<Finding> {
  const base = given(environment, 'OTEL_EXPORTER_OTLP_ENDPOINT') || 'http://localhost:4318';
  const url = new URL(
    given(environment, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') || `${base.replace(/\/+$/, '')}/v1/traces`,
  );
  const place = url.origin + url.pathname;
  const isJson = protocol === 'http/json';
  try {
    const answer = await askServer(url.href, {
      method: 'POST',
      headers: {
        'content-type': isJson ? 'application/json' : 'application/x-protobuf',
        ...headersIn(environment),
      },
      body: isJson ? '{}' : '',
    });
    if (answer.status > 299) throw refusalOf(answer.status, answer.text);
    return ok(thing, `${place} takes ${protocol} in ${Math.round(answer.elapsed_ms)} ms`);
  } catch (thrown) {
    const { message } = thrown as Error;
    const isForGrpc = url.port === '4317' || /not answer in HTTP\/1|cuts the connection/.test(message);
    const finding = faultOf(thing, thrown, 'check OTEL_EXPORTER_OTLP_ENDPOINT');
    const remedy = isForGrpc
      ? 'it may speak gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=grpc, or the port for HTTP, usually 4318'
      : message.startsWith('answered 404')
        ? 'check the path: /v1/traces is added to OTEL_EXPORTER_OTLP_ENDPOINT, and not to OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
        : /^answered 40[13]/.test(message)
          ? 'check OTEL_EXPORTER_OTLP_HEADERS'
          : finding.remedy!;
    return { ...finding, found: `${place}: ${finding.found}`, remedy };
  }
}

function headersIn(environment: Environment): Record<string, string> {
  const pairs = ofTraces(environment, 'HEADERS')
    .split(',')
    .filter(pair => pair.includes('='));
  return Object.fromEntries(
    pairs.map(pair => {
      const [name = '', ...value] = pair.split('=');
      return [name.trim().toLowerCase(), decodePath(value.join('=').trim())];
    }),
  );
}

/** Only whether HTTP/2 is spoken: a call would need the SDK. */
async function checkGrpc(environment: Environment): Promise<Finding> {
  const address = ofTraces(environment, 'ENDPOINT') || 'http://localhost:4317';
  const { origin } = new URL(/^https?:/i.test(address) ? address : `http://${address}`);
  const session = connect(origin);
  try {
    // The settings of the other side: a server of HTTP/1 sends none.
    await within(
      once(session, 'remoteSettings'),
      ask_ms,
      () => new Error(`no answer within ${ask_ms / 1000} s`),
    );
    return ok(thing, `${origin} speaks HTTP/2, as gRPC does`);
  } catch (thrown) {
    const { message, remedy } = noAnswer(thrown, { protocol: 'http2:' });
    const { code = '' } = thrown as NodeJS.ErrnoException;
    const isHttp1 = code.startsWith('ERR_HTTP2');
    return isHttp1
      ? fault(
          thing,
          `${origin} does not speak gRPC`,
          'set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or the port for gRPC, usually 4317',
        )
      : fault(thing, `${origin}: ${message}`, remedy);
  } finally {
    session.destroy();
  }
}
