// Loaded by every Node process of a recipe. Its usual ports are free ones here, and other hosts are servers of the test.
const dns = require('node:dns');
const { Server, Socket } = require('node:net');

/** @type {{ ports: Record<string, number>, hosts: Record<string, number> }} */
const { ports, hosts } = JSON.parse(process.env.RECIPE_NETWORK);
const isHere = host => host === undefined || host === 'localhost' || host === '127.0.0.1' || host === '::1';

/** An address for each host, for programs that look it up before they connect. They are reserved for documents. */
const addresses = new Map(Object.keys(hosts).map((host, at) => [host, `192.0.2.${at + 1}`]));
for (const [host, address] of addresses) hosts[address] = hosts[host];

/** Lets `lookUp` answer at once for these hosts. */
const answering = (lookUp, answerOf) =>
  function (host, ...rest) {
    const address = addresses.get(host);
    if (address === undefined) return lookUp.call(this, host, ...rest);
    process.nextTick(rest.at(-1), null, ...answerOf(address, rest[0]));
  };
const resolver = dns.Resolver.prototype;
resolver.resolve4 = answering(resolver.resolve4, address => [[address]]);
resolver.resolve6 = answering(resolver.resolve6, () => [[]]);
dns.lookup = answering(dns.lookup, (address, { all } = {}) =>
  all ? [[{ address, family: 4 }]] : [address, 4],
);

/** The options among the arguments of `listen` or `connect`, which `net.connect` passes on as a list. */
const optionsIn = args => [args[0]].flat()[0];

const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  const options = optionsIn(args);
  if (typeof options === 'object' && options !== null && ports[options.port])
    options.port = ports[options.port];
  else if (ports[options]) args[0] = ports[options];
  return listen.apply(this, args);
};

const { connect } = Socket.prototype;
Socket.prototype.connect = function (...args) {
  const options = optionsIn(args);
  if (typeof options === 'object' && options !== null) {
    const port = hosts[options.host] ?? (isHere(options.host) ? ports[options.port] : undefined);
    if (hosts[options.host]) options.host = '127.0.0.1';
    if (port) options.port = port;
  }
  return connect.apply(this, args);
};
