/** The outputs of a job as the API shows them: pictures as freshly signed links, transcripts as text. */
import { type Clock, type JobOutputs, type Transcript, TranscriptSchema, toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { JobOutput, StoredImage, StoredTranscript } from '@lehr/shared/records';

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

  /** `brief` leaves out what must be read from the store: the segments of a long transcript. */
  async outputs({ images, transcript }: JobOutput, brief: boolean): Promise<JobOutputs> {
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
}
