/** What the simulated engine says about itself; a gateway must not let it through to its clients. */
export const FINGERPRINT = 'vllm-0.12.0-sim-tp1-4f2a9c1e';

/** The version on `GET /version`. */
export const VERSION = '0.12.0+simulated';
