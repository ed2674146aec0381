import { describe, expect, it } from '@jest/globals';
import { classOfType, type EndClass, endClassOf } from '../../../../src/common/end-class.ts';
import { errorCatalogue } from '../../../../src/gateway/exchange/errors.ts';

describe('the class of an end', () => {
  it.each<[end_reason: string, error: string, EndClass]>([
    ['completed', '', 'completed'],
    ['refused', 'authentication_error', 'refusal'],
    ['refused', 'permission_error', 'refusal'],
    ['refused', 'rate_limit_error', 'refusal'],
    ['refused', 'invalid_request_error', 'client_error'],
    ['refused', 'provider_error', 'provider_failed'],
    ['refused', 'server_error', 'gateway_failed'],
    ['refused', 'a_type_of_a_plugin', 'refusal'],
    ['refused', '403', 'refusal'],
    ['refused', '404', 'client_error'],
    ['refused', '503', 'gateway_failed'],
    ['upstream_failed', 'provider_error', 'provider_failed'],
    ['upstream_failed', 'configuration_error', 'gateway_failed'],
    // With pass_upstream_429: the provider is at its limit, not the account.
    ['upstream_failed', 'rate_limit_error', 'provider_failed'],
    ['upstream_failed', 'invalid_request_error', 'provider_failed'],
    ['upstream_failed', '503', 'provider_failed'],
    ['upstream_failed', '', 'provider_failed'],
    ['client_gone', 'provider_error', 'client_left'],
    ['slow_client', '', 'client_left'],
    ['time_limit', 'timeout_error', 'gateway_failed'],
    ['background_aborted', 'timeout_error', 'gateway_failed'],
    ['background_aborted', '', 'client_left'],
    ['shutdown', '', 'gateway_failed'],
    ['internal_error', 'server_error', 'gateway_failed'],
    ['of_another_version', '400', 'client_error'],
  ])('is, of %s with the error %j, %s', (end_reason, error, expected) => {
    expect(endClassOf(end_reason, error)).toBe(expected);
  });

  it('is known of every error that the gateway sends', () => {
    const types = new Set(Object.values(errorCatalogue).map(({ type }) => type));
    expect(new Set(Object.keys(classOfType))).toEqual(types);
  });
});
