/**
 * What a reader has who has done the page about a model server: a server, here simulated, and `sluice.yaml` with its one model and the
 * account `me`, whose records are in `sluice.db`.
 */
export const configured = `
sluice simulate --port 8000 --models qwen3-8b > simulator.log &
sluice init --adapter vllm --url http://127.0.0.1:8000/v1 --yes 2> init.log
`;
