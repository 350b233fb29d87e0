/** The outputs of a job as the API shows them: pictures as freshly signed links, transcripts as text, results of texts and labels as they are. */
import {
  type Clock,
  type JobOutputs,
  MAX_SHOWN_RESULT_BYTES,
  type StoredTextOutput,
  StoredTextResultSchema,
  type TextOutput,
  type Transcript,
  TranscriptSchema,
  toObjectKey,
} from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { JobOutput, StoredImage, StoredTranscript } from '@lehr/shared/records';
import { presentText } from './text-result.ts';

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

  /** `brief` leaves out what must be read from the store: the segments of a long transcript; a stored result of texts becomes a link. */
  async outputs(
    { images, transcript, text, labels, ...cuts }: JobOutput,
    brief: boolean,
  ): Promise<JobOutputs> {
    if (text) return this.#text(text, brief);
    if (labels) return { labels: [labels] };
    const hasImages = images.length > 0 || !transcript;
    const base: JobOutputs = hasImages ? { images: await this.#images(images), ...cuts } : {};
    return transcript ? { ...base, ...(await this.#transcript(transcript, brief)) } : base;
  }

  #images(images: readonly StoredImage[]): Promise<NonNullable<JobOutputs['images']>> {
    const { store, linkTtlS } = this.#options;
    const expiresAt = this.#expiresAt();
    return Promise.all(
      images.map(async ({ key, latent, ...image }) => ({
        url: await store.link(toObjectKey(key), { expiresInS: linkTtlS }),
        ...image,
        ...(latent && { latent_url: await store.link(toObjectKey(latent), { expiresInS: linkTtlS }) }),
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
    if (stored.key === undefined) return presentText(stored);
    if (brief) return this.#linked(stored, stored.key);
    const object = await this.#options.store.get(toObjectKey(stored.key));
    if (!object) return presentText(stored);
    if (object.bytes > MAX_SHOWN_RESULT_BYTES) {
      await object.body.cancel();
      return this.#linked(stored, stored.key);
    }
    const result = StoredTextResultSchema.parse(await new Response(object.body).json());
    return presentText({ ...stored, result });
  }

  async #linked(stored: StoredTextOutput, key: string): Promise<TextOutput> {
    const { store, linkTtlS } = this.#options;
    const url = await store.link(toObjectKey(key), { expiresInS: linkTtlS });
    return { ...presentText(stored), result_url: url, result_expires_at: this.#expiresAt() };
  }

  /** Of a link that is signed now; rounded down, so that the shown expiry is never later than the real one. */
  #expiresAt(): string {
    const { clock, linkTtlS } = this.#options;
    return new Date(Math.floor(clock.now() / 1000) * 1000 + linkTtlS * 1000).toISOString();
  }
}
