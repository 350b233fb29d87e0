/** A graph that runs piece by piece (onnx-model/src/cut), so that other graphs may run in between. */
import { cutGraph, memorySource, PIECES, withFileSource, writePieces } from '@lehr/onnx-model';
import { readGraph, weightsPlace } from './external-data.ts';
import type { GraphSource, RuntimeSession } from './runtime.ts';
import { SessionAround } from './session-around.ts';
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

class PiecedSession extends SessionAround {
  readonly #count: number;
  /** What the first piece gets, which reads nothing of it. */
  readonly #nothing: Tensor;

  constructor(session: RuntimeSession, count: number, output: string) {
    const [{ type, dims }] = session.outputs;
    const own: readonly string[] = [PIECES.number, PIECES.given];
    const inputs = session.inputs.filter(({ name }) => !own.includes(name));
    super(session, { inputs, outputs: [{ name: output, type, dims }] });
    this.#count = count;
    const least = dims.map(() => 1);
    this.#nothing = floatTensor(type as FloatType, new Float32Array(elementCount(least)), least);
  }

  override get pieces(): number {
    return this.#count;
  }

  async *runInPieces(feeds: Feeds): AsyncGenerator<void, Results> {
    let made = this.#nothing;
    for (let piece = 0; piece < this.#count; piece += 1) {
      if (piece > 0) yield;
      const number: Tensor = { type: 'int64', data: BigInt64Array.of(BigInt(piece)), dims: [] };
      const results = await this.session.run({ ...feeds, [PIECES.number]: number, [PIECES.given]: made });
      made = results[PIECES.made];
    }
    return { [this.outputs[0].name]: made };
  }
}
