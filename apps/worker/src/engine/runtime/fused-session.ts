/** A session whose attentions are fused where that works, and as in the file otherwise: when they disagree, do not open, or a run fails. */
import { LehrError } from '@lehr/shared';
import { type RunModel, withFusedAttention } from './fused-attention.ts';
import type { Fusion, GraphSource, RuntimeSession } from './runtime.ts';
import { runInPieces, SessionAround } from './session-around.ts';
import type { Tensor } from './tensor.ts';

export interface Opening {
  /** Opens a form of the graph. */
  open(source: GraphSource): Promise<RuntimeSession>;
  /** Runs a small model on the same provider. */
  readonly run: RunModel;
}

/** A graph that is a link has its weights copied into `bytes`: too much to keep for a run that may fail. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/** Throws what opening the graph as in its file throws. */
export async function openFused(graph: GraphSource, { open, run }: Opening): Promise<RuntimeSession> {
  let fusion: Fusion | undefined;
  try {
    const fused = await withFusedAttention(graph, run);
    fusion = fused.fusion;
    if (fusion && fusion.attentions > 0)
      return new FusedSession(await open(fused.source), fusion, reopening(graph, open));
  } catch (error) {
    // Also what a damaged graph makes of the search for attentions: whether it can be opened is for ONNX Runtime to say.
    fusion = unfused(fusion, `the graph does not open with them fused: ${messageOf(error)}`);
  }
  const session = await open(graph);
  return fusion ? new FusedSession(session, fusion) : session;
}

export const reopening = (
  graph: GraphSource,
  open: Opening['open'],
): (() => Promise<RuntimeSession>) | undefined =>
  (graph.bytes?.byteLength ?? 0) > MAX_KEPT_BYTES ? undefined : () => open(graph);

/** Those that were fused are as in the file after all. */
const unfused = ({ attentions, left }: Fusion = { attentions: 1, left: {} }, reason: string): Fusion => ({
  attentions: 0,
  left: { ...left, [reason]: attentions },
});

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

type Feeds = Readonly<Record<string, Tensor>>;

class FusedSession extends SessionAround {
  #fusion: Fusion;
  /** Opens the graph as in its file; absent when it is so already, or would need a copy of the weights. */
  #reopen: (() => Promise<RuntimeSession>) | undefined;

  constructor(session: RuntimeSession, fusion: Fusion, reopen?: () => Promise<RuntimeSession>) {
    super(session);
    this.#fusion = fusion;
    this.#reopen = reopen;
  }

  get fusion(): Fusion {
    return { ...this.session.fusion, ...this.#fusion };
  }

  /** A fused attention wants sizes that the file's may not need, such as as many rows of keys as of queries. */
  async *runInPieces(
    feeds: Feeds,
    outputs?: readonly string[],
  ): AsyncGenerator<void, Record<string, Tensor>> {
    try {
      return yield* runInPieces(this.session, feeds, outputs);
    } catch (error) {
      const reopen = this.#reopen;
      if (!reopen || !(error instanceof LehrError) || error.code !== 'engine-failed') throw error;
      this.#reopen = undefined;
      await this.session.close();
      this.session = await reopen();
      this.#fusion = unfused(this.#fusion, `the graph does not run with them fused: ${error.message}`);
      return yield* runInPieces(this.session, feeds, outputs);
    }
  }

  override close(): Promise<void> {
    this.#reopen = undefined;
    return super.close();
  }
}
