/** The version of this package; a test compares it with package.json, which bundlers may leave behind. */
export const version = '0.1.0';
