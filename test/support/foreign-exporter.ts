import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Histogram, register } from 'prom-client';

// A process that is not sluice, with Node's usual metrics, and one that any client of a language model has under OpenTelemetry's conventions.
collectDefaultMetrics();
new Histogram({
  name: 'gen_ai_client_operation_duration_seconds',
  help: 'Duration of calls.',
  labelNames: ['gen_ai_request_model', 'error_type'],
})
  .labels('aion-labs/aion-3.5', '')
  .observe(1);
const server = createServer(async (_, response) => {
  response.setHeader('content-type', register.contentType).end(await register.metrics());
});
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('disconnect', () => process.exit());
