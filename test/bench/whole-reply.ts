/** The stages and hooks of the default chain that a whole reply passes. */
export const hooks = [
  ['auth', 'onHeaders'],
  ['rate-limit', 'onHeaders'],
  ['validation', 'onRequest'],
  ['rate-limit', 'onRequest'],
  ['request-rewrite', 'onRequest'],
  ['reasoning-split', 'onReply'],
] as const;
