/** Limits of the gateway under load: small enough to be met often, too large for a busy machine to meet by itself. */
export const max_body_bytes = 1024 * 1024;
export const time_limit_ms = 8000;
/** Milliseconds for which the upstream may be silent. undici checks this about once a second. */
export const idle_timeout_ms = 4000;
/** Longer than that, since an upstream that is held back is not silent. */
export const slow_client_ms = 6000;
/** A model whose upstream may be silent for longer than the time limit. */
export const patient_model = 'aion-labs/aion-3.0';
