import {
  ask,
  clientKey,
  type GatewayOverrides,
  type GatewayUnderTest,
  startGateway,
} from './gateway-under-test.ts';
import { completion } from './hostile-setting.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from './scripted-upstream.ts';

const open: { close(): Promise<unknown> }[] = [];

/** For afterEach. */
export async function closeReloaded(): Promise<void> {
  for (const one of open.splice(0).reverse()) await one.close();
}

/** An upstream that answers every request with this text; closed by `closeReloaded`. */
export async function upstreamSaying(text: string): Promise<ScriptedUpstream> {
  const upstream = await startScriptedUpstream(whole(200, completion(text)));
  open.push(upstream);
  return upstream;
}

/** A gateway to be reloaded, in this process; closed by `closeReloaded`. */
export async function reloadable(overrides: GatewayOverrides): Promise<GatewayUnderTest> {
  const gateway = await startGateway(overrides);
  open.push({ close: () => gateway.gateway.close(0).then(() => gateway.close()) });
  return gateway;
}

/** The text of a reply, or the status of a refusal. */
export async function answerOf(gateway: GatewayUnderTest, key = clientKey): Promise<string | number> {
  const reply = await gateway.post(ask('Who?'), { headers: { authorization: `Bearer ${key}` } });
  const { choices } = (await reply.json()) as { choices?: { message: { content: string } }[] };
  return choices?.[0]?.message.content ?? reply.status;
}
