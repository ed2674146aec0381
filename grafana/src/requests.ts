import { type Expr, of, ofModel, perSecond, promql, rate, sum } from './promql.ts';

const requests = 'sluice_requests_total';
/** The endpoints that ask a model. */
const asking = 'endpoint!~"models|messages.count-tokens|unknown"';
/** Types of errors that are not the client's: an overload ends as `refused` with one of them. */
const ours = 'error_type=~"provider_error|server_error|timeout_error|configuration_error"';

/** Requests that ended, per second, by `labels`. */
export const ended = (...labels: readonly string[]): Expr => rate(of(requests, ofModel), ...labels);

const asked = (matcher: string): Expr => perSecond(of(requests, ofModel, asking, matcher));

/** Requests that failed, per second, as the alerts count them. */
export const failed: Expr = sum(
  promql`${asked('end_reason=~"upstream_failed|internal_error|time_limit"')} or ${asked(ours)}`,
);

/** Requests that were let in, per second: all but those refused for what the client did, such as an unknown key or a full limit. */
export const letIn: Expr = sum(promql`${asked('end_reason!="refused"')} or ${asked(ours)}`);
