/** The request is answered with an error in vLLM's shape instead of being served. */
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
