/**
 * Node's HTTP module. Its values come from here: an `import` of them would make Node read all of its exports, and one of these loads a second
 * undici, which takes 60 ms of CPU at each start.
 */
export const http = process.getBuiltinModule('node:http');
