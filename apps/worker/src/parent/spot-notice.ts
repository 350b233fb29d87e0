/**
 * Watches for the notice of Amazon EC2 that it will take this instance back: the interruption of a spot instance, two minutes
 * before it happens, or the recommendation to leave the instance, which may come earlier. Both are read from the instance
 * metadata service, version 2 (IMDSv2).
 */
import type { Clock, Log } from '@lehr/shared';

export interface SpotNoticeOptions {
  /** On an instance `http://169.254.169.254`. */
  readonly metadataUrl: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** The paths that answer 404 until there is a notice. */
const NOTICES = {
  interruption: '/latest/meta-data/spot/instance-action',
  rebalance: '/latest/meta-data/events/recommendations/rebalance',
} as const;
export type SpotNotice = keyof typeof NOTICES;

const TOKEN_PATH = '/latest/api/token';
const TOKEN_TTL_S = 21_600;
/** EC2 recommends a check every 5 seconds. */
const EVERY_MS = 5_000;
const DEADLINE_MS = 2_000;

/** Resolves with the first notice. Never rejects. */
export async function spotNotice(options: SpotNoticeOptions): Promise<SpotNotice> {
  const { clock, log } = options;
  const service = new MetadataService(options.metadataUrl);
  let isFailing = false;
  for (;;) {
    try {
      const notice = await service.notice();
      if (notice) return notice;
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ error }, 'the EC2 metadata service cannot be read; retrying');
      isFailing = true;
    }
    await clock.sleep(EVERY_MS);
  }
}

class MetadataService {
  readonly #metadataUrl: string;
  #token: string | undefined;

  constructor(metadataUrl: string) {
    this.#metadataUrl = metadataUrl;
  }

  async notice(): Promise<SpotNotice | undefined> {
    this.#token ??= await this.#newToken();
    for (const [notice, path] of Object.entries(NOTICES)) {
      const { status } = await this.#fetch(path, 'GET', { 'x-aws-ec2-metadata-token': this.#token });
      if (status === 200) return notice as SpotNotice;
      if (status === 404) continue;
      // 401: the token has expired. The next check gets a new one.
      this.#token = undefined;
      throw new Error(`GET ${path} answered ${status}`);
    }
    return undefined;
  }

  async #newToken(): Promise<string> {
    const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': `${TOKEN_TTL_S}` };
    const { status, text } = await this.#fetch(TOKEN_PATH, 'PUT', ttl);
    if (status !== 200) throw new Error(`PUT ${TOKEN_PATH} answered ${status}`);
    return text;
  }

  async #fetch(path: string, method: string, headers: Record<string, string>) {
    const response = await fetch(new URL(path, this.#metadataUrl), {
      method,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    return { status: response.status, text: await response.text() };
  }
}
