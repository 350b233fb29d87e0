/** The outputs of a job as the API shows them: pictures as freshly signed links, transcripts as text. */
import {
  type Clock,
  type JobOutputs,
  type StoredTextOutput,
  StoredTextResultSchema,
  type TextOutput,
  type Transcript,
  TranscriptSchema,
  toObjectKey,
} from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { JobOutput, StoredImage, StoredTranscript } from '@lehr/shared/records';
import { presentText } from './present-text.ts';

export interface OutputPresenterOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly linkTtlS: number;
}

export class OutputPresenter {
  readonly #options: OutputPresenterOptions;

  constructor(options: OutputPresenterOptions) {
    this.#options = options;
  }

  /** `brief` leaves out what must be read from the store: the segments of a long transcript, the result for many texts. */
  async outputs({ images, transcript, text }: JobOutput, brief: boolean): Promise<JobOutputs> {
    if (text) return this.#text(text, brief);
    const base: JobOutputs = images.length > 0 || !transcript ? { images: await this.#images(images) } : {};
    return transcript ? { ...base, ...(await this.#transcript(transcript, brief)) } : base;
  }

  #images(images: readonly StoredImage[]): Promise<NonNullable<JobOutputs['images']>> {
    const { store, clock, linkTtlS } = this.#options;
    // Rounded down, so that the shown expiry is never later than the real one.
    const expiresAt = new Date(Math.floor(clock.now() / 1000) * 1000 + linkTtlS * 1000).toISOString();
    return Promise.all(
      images.map(async ({ key, ...image }) => ({
        url: await store.link(toObjectKey(key), { expiresInS: linkTtlS }),
        ...image,
        expires_at: expiresAt,
      })),
    );
  }

  async #transcript({ key, ...kept }: StoredTranscript, brief: boolean): Promise<Partial<Transcript>> {
    if (key === undefined || brief) return kept;
    const object = await this.#options.store.get(toObjectKey(key));
    // Outputs may expire before records do.
    if (!object) return kept;
    return TranscriptSchema.parse(await new Response(object.body).json());
  }

  async #text(stored: StoredTextOutput, brief: boolean): Promise<TextOutput> {
    if (stored.key === undefined || brief) return presentText(stored);
    const object = await this.#options.store.get(toObjectKey(stored.key));
    if (!object) return presentText(stored);
    const result = StoredTextResultSchema.parse(await new Response(object.body).json());
    return presentText({ ...stored, result });
  }
}
