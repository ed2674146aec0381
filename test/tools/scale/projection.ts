/** What one exchange costs, as measured by the simulated month and, of the gateway, in docs/performance.md. */
export interface UnitCosts {
  /** Beside renewals. */
  readonly redis_calls_per_exchange: number;
  readonly redis_us_per_call: number;
  /** Memory of Redis for each open exchange. */
  readonly redis_bytes_per_open: number;
  readonly postgres_us_per_row: number;
  /** With attempts and indexes. */
  readonly postgres_bytes_per_row: number;
  readonly cpu_us_per_event: number;
  readonly cpu_us_per_request: number;
  readonly bytes_per_stream: number;
}

/** A load that is thought of. */
interface Load {
  readonly streams: number;
  readonly tokens_per_second: number;
  readonly seconds_per_stream: number;
  readonly accounts: number;
}

/** Share of a core that is used, of a gateway as of a store. */
const busy = 0.6;
const renewal_s = 5;
/** Of each instance, to each primary. */
const heartbeats_per_second = 0.2;
/** Of the ledger's rows, at each instance. */
const batches_per_second = 4;
const day_s = 86_400;

/** How many of everything a load takes. */
export function projectionOf(load: Load, costs: UnitCosts) {
  const { streams, tokens_per_second, seconds_per_stream, accounts } = load;
  const requests_per_second = streams / seconds_per_stream;
  const events_per_second = streams * tokens_per_second;
  const gateway_cores =
    (events_per_second * costs.cpu_us_per_event + requests_per_second * costs.cpu_us_per_request) / 1e6;
  const instances = Math.ceil(gateway_cores / busy);
  // A call renews what one account has at one instance: of accounts that are alike, so many have a stream there.
  const at_instance = streams / instances;
  const pairs = instances * accounts * (1 - (1 - 1 / accounts) ** at_instance);
  const reservation_calls = requests_per_second * costs.redis_calls_per_exchange;
  const renewal_calls = pairs / renewal_s;
  const heartbeat_calls = instances * heartbeats_per_second;
  const spread_us = (reservation_calls + renewal_calls) * costs.redis_us_per_call;
  const free_us = busy * 1e6 - heartbeat_calls * costs.redis_us_per_call;
  const rows_per_day = requests_per_second * day_s;
  return {
    requests_per_second,
    events_per_second,
    instances,
    gateway_memory_bytes: streams * costs.bytes_per_stream,
    reservation_calls,
    renewal_calls,
    heartbeat_calls,
    redis_servers: Math.ceil(spread_us / free_us),
    redis_memory_bytes: streams * costs.redis_bytes_per_open,
    rows_per_day,
    batches: instances * batches_per_second,
    postgres_bytes_per_day: rows_per_day * costs.postgres_bytes_per_row,
    postgres_cores: Math.ceil((requests_per_second * costs.postgres_us_per_row) / 1e6 / busy),
  };
}
