/**
 * A session on CUDA whose graph has the operators that ONNX Runtime has there only. Nothing is trusted: the graph as it was given repeats the first
 * run, which is part of opening a model. With the operators it serves when both agree; as it was given when not, and when it does not open or run.
 * A node that ONNX Runtime refuses by its name, as it opens the graph or in that first run, is as it was given, and the others serve.
 */
import { LehrError } from '@lehr/shared';
import { disagreement, largestShare, TOLERANCE } from './agreement.ts';
import { CudaOperators } from './cuda-operators.ts';
import { type Opening, reopening } from './fused-session.ts';
import type { Fusion, GraphSource, RuntimeSession } from './runtime.ts';
import { runInPieces, SessionAround } from './session-around.ts';
import type { Tensor } from './tensor.ts';

/** Throws what opening the graph as it is given throws. */
export async function openForCuda(graph: GraphSource, open: Opening['open']): Promise<RuntimeSession> {
  const operators = new CudaOperators(graph, open);
  try {
    const session = await operators.open();
    if (!operators.fusion) return session;
    return new CudaSession(session, operators, {
      compare: () => open(graph),
      later: reopening(graph, open),
    });
  } catch (error) {
    operators.giveUp(notOpening(error));
    return new CudaSession(await open(graph), operators);
  }
}

const notOpening = (error: unknown): string => `the graph does not open with them: ${messageOf(error)}`;
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Both open the graph as it was given. */
interface Given {
  /** Until the first run. */
  readonly compare: () => Promise<RuntimeSession>;
  readonly later: (() => Promise<RuntimeSession>) | undefined;
}

type Feeds = Readonly<Record<string, Tensor>>;
type Outputs = Record<string, Tensor>;

class CudaSession extends SessionAround {
  readonly #operators: CudaOperators;
  #isCompared: boolean;
  /** Absent when the graph is open as it was given. */
  #given: Given | undefined;

  constructor(session: RuntimeSession, operators: CudaOperators, given?: Given) {
    super(session);
    this.#operators = operators;
    this.#given = given;
    this.#isCompared = !given;
  }

  get fusion(): Fusion {
    const cuda = this.#operators.fusion;
    return { attentions: 0, left: {}, ...(cuda && { cuda }) };
  }

  async *runInPieces(feeds: Feeds, names?: readonly string[]): AsyncGenerator<void, Outputs> {
    const open = this.#isCompared ? this.#given?.later : this.#given?.compare;
    if (!open) return yield* runInPieces(this.session, feeds, names);
    let problem: string | undefined;
    try {
      const outputs = yield* runInPieces(this.session, feeds, names);
      if (!this.#isCompared) problem = await this.#compare(outputs, open, feeds, names);
      this.#isCompared = true;
      if (problem === undefined) return outputs;
    } catch (error) {
      if (!(error instanceof LehrError) || error.code !== 'engine-failed') throw error;
      problem = `the graph does not run with them: ${error.message}`;
      if (!this.#isCompared && this.#operators.leave(error)) problem = await this.#openAgain();
      if (problem === undefined) return yield* this.runInPieces(feeds, names);
    }
    // Never two of them at a time from here on: their weights may fill the card.
    this.#given = undefined;
    await this.session.close();
    this.session = await open();
    this.#operators.giveUp(problem);
    return yield* runInPieces(this.session, feeds, names);
  }

  /** Without what its operators can do without. Undefined, or why it does not open. */
  async #openAgain(): Promise<string | undefined> {
    try {
      await this.session.close();
      this.session = await this.#operators.open();
      return undefined;
    } catch (error) {
      return notOpening(error);
    }
  }

  async #compare(
    outputs: Outputs,
    open: Given['compare'],
    feeds: Feeds,
    names: readonly string[] | undefined,
  ): Promise<string | undefined> {
    try {
      const session = await open();
      const wanted = await session.run(feeds, names).finally(() => session.close());
      const problem = disagreement(largestShare(wanted, outputs), TOLERANCE.float16);
      return problem && `with them, ${problem}`;
    } catch (error) {
      return `it cannot be compared: ${messageOf(error)}`;
    }
  }

  override close(): Promise<void> {
    this.#given = undefined;
    this.#isCompared = true;
    return super.close();
  }
}
