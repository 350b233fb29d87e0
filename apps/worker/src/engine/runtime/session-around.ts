/** Sessions that run another session, whole or piece by piece. */
import type { Placement, RuntimeSession, ValueInfo } from './runtime.ts';
import type { Tensor } from './tensor.ts';

type Feeds = Readonly<Record<string, Tensor>>;
type Results = Record<string, Tensor>;

/** Runs a session in its pieces, if it has any: at a yield, other sessions may run. */
export async function* runInPieces(
  session: RuntimeSession,
  feeds: Feeds,
  outputs?: readonly string[],
): AsyncGenerator<void, Results> {
  return session.runInPieces ? yield* session.runInPieces(feeds, outputs) : await session.run(feeds, outputs);
}

/** The result of a run in pieces, with nothing in between. */
export async function finish<Result>(run: AsyncGenerator<void, Result>): Promise<Result> {
  let next = await run.next();
  while (!next.done) next = await run.next();
  return next.value;
}

/** Has the inputs and outputs of the other session, but for those that are given. */
export abstract class SessionAround implements RuntimeSession {
  readonly provider: RuntimeSession['provider'];
  readonly refusals: readonly string[];
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  /** Another form of the same graph may take its place. */
  protected session: RuntimeSession;

  constructor(
    session: RuntimeSession,
    { inputs, outputs }: Pick<RuntimeSession, 'inputs' | 'outputs'> = session,
  ) {
    this.provider = session.provider;
    this.refusals = session.refusals;
    this.inputs = inputs;
    this.outputs = outputs;
    this.session = session;
  }

  get placement(): Placement | undefined {
    return this.session.placement;
  }

  get pieces(): number | undefined {
    return this.session.pieces;
  }

  run(feeds: Feeds, outputs?: readonly string[]): Promise<Results> {
    return finish(this.runInPieces(feeds, outputs));
  }

  abstract runInPieces(feeds: Feeds, outputs?: readonly string[]): AsyncGenerator<void, Results>;

  close(): Promise<void> {
    return this.session.close();
  }
}
