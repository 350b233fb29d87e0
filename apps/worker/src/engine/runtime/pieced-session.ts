/** A graph that runs piece by piece (onnx-model/src/cut), so that other graphs may run in between. */
import { cutGraph, memorySource, PIECES, withFileSource, writePieces } from '@lehr/onnx-model';
import { readGraph, weightsPlace } from './external-data.ts';
import type { GraphSource, Placement, RuntimeSession, ValueInfo } from './runtime.ts';
import { elementCount, type FloatType, floatTensor, type Tensor } from './tensor.ts';

type Feeds = Readonly<Record<string, Tensor>>;
type Results = Record<string, Tensor>;

/**
 * Opens the graph in the fewest pieces of which none takes more than `share` of its estimated cost. Throws what `open` throws, and when the graph cannot
 * be cut.
 */
export async function openPieces(
  source: GraphSource,
  share: number,
  open: (source: GraphSource) => Promise<RuntimeSession>,
): Promise<RuntimeSession> {
  const stored = readGraph(source);
  const pieces = cutGraph(stored, share);
  const [{ whole }] = pieces;
  if (whole !== undefined) throw new Error(`it cannot be cut: ${whole}`);
  const { bytes, path } = source;
  const written = bytes
    ? writePieces(stored, pieces, memorySource(bytes))
    : withFileSource(path, (file) => writePieces(stored, pieces, file, weightsPlace(path)));
  const session = await open({ ...source, bytes: written });
  return new PiecedSession(session, pieces.length, pieces[pieces.length - 1].made);
}

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

class PiecedSession implements RuntimeSession {
  readonly provider: RuntimeSession['provider'];
  readonly refusals: readonly string[];
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly pieces: number;
  readonly #session: RuntimeSession;
  /** What the first piece gets, which reads nothing of it. */
  readonly #nothing: Tensor;

  constructor(session: RuntimeSession, pieces: number, output: string) {
    const [{ type, dims }] = session.outputs;
    const own: readonly string[] = [PIECES.number, PIECES.given];
    this.provider = session.provider;
    this.refusals = session.refusals;
    this.inputs = session.inputs.filter(({ name }) => !own.includes(name));
    this.outputs = [{ name: output, type, dims }];
    this.pieces = pieces;
    this.#session = session;
    const least = dims.map(() => 1);
    this.#nothing = floatTensor(type as FloatType, new Float32Array(elementCount(least)), least);
  }

  get placement(): Placement | undefined {
    return this.#session.placement;
  }

  run(feeds: Feeds): Promise<Results> {
    return finish(this.runInPieces(feeds));
  }

  async *runInPieces(feeds: Feeds): AsyncGenerator<void, Results> {
    let made = this.#nothing;
    for (let piece = 0; piece < this.pieces; piece += 1) {
      if (piece > 0) yield;
      const number: Tensor = { type: 'int64', data: BigInt64Array.of(BigInt(piece)), dims: [] };
      const results = await this.#session.run({ ...feeds, [PIECES.number]: number, [PIECES.given]: made });
      made = results[PIECES.made];
    }
    return { [this.outputs[0].name]: made };
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
