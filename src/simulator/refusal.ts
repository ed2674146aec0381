/** Thrown to answer a request with an error in vLLM's shape. */
export class Refusal extends Error {
  readonly status: number;
  readonly param: string | null;

  constructor(status: number, message: string, param: string | null = null) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.param = param;
  }
}
