/** What users write, each as a file of a project that has the package. */
export const programs: Readonly<Record<string, string>> = {
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      module: 'nodenext',
      target: 'es2024',
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      outDir: 'built',
    },
    include: ['*.mts', '*.cts'],
  }),
  'module.mts': `
    import express from 'express';
    import { auth, createChain, createGateway, errorEnvelope, type Gateway, type GatewayConfig } from 'sluice';
    import { defineDialect, defineProvider, defineStage } from 'sluice/plugin';
    import { checkStage } from 'sluice/testing';
    const config: GatewayConfig = {
      providers: { local: { adapter: 'vllm', base_url: 'http://127.0.0.1:9/v1' } },
      models: [{
        id: 'acme/small', name: 'Small', date: '2026-01-01', context_length: 32768, max_completion_tokens: 8192,
        pricing: { prompt: '0', completion: '0' }, reasoning: false, tool_calls: true,
        reasoning_effort: { supported: false, levels: [], default: null },
        upstreams: [{ provider: 'local', model: 'small' }],
      }],
      accounts: { demo: { keys: [{ value: 'sk-demo-0123456789' }] } },
      log: { level: 'error' },
    };
    export const others: GatewayConfig['providers'] = {
      own: { adapter: './own.ts', base_url: 'http://127.0.0.1', region: 'eu' },
      vllm: { adapter: 'vllm', base_url: 'http://127.0.0.1', thinking_switches: ['thinking'] },
    };
    // @ts-expect-error An option that does not exist.
    export const wrong = () => auth({ x_api_kee: true });
    const accounts = { demo: { keys: [{ value: 'sk-demo-0123456789' }] } };
    const gateway: Gateway = await createGateway(config);
    const app = express();
    app.use(createChain([errorEnvelope(), auth()], { accounts }), gateway);
    await gateway.close();
    const parts: unknown[] = [app, checkStage, defineDialect, defineProvider, defineStage];
    console.log(parts.every(part => typeof part === 'function'));`,
  'require.cts': `
    import sluice = require('sluice');
    import plugin = require('sluice/plugin');
    const store = sluice.openStateStore({ state: 'memory' });
    store.close().then(() => console.log(plugin.GatewayError === sluice.GatewayError));`,
  'plain.cjs': `
    const { createGateway, GatewayError } = require('sluice');
    const testing = require('sluice/testing');
    import('sluice').then(sluice => {
      console.log(sluice.createGateway === createGateway && sluice.GatewayError === GatewayError && 'checkStage' in testing);
    });`,
};
