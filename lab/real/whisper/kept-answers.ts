/** Answers of the reference programs, kept on the disk: they take minutes, and the same question has the same answer. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';

export class KeptAnswers<Answer> {
  readonly #file: string;
  readonly #answers: Map<string, Answer>;

  private constructor(file: string, answers: Map<string, Answer>) {
    this.#file = file;
    this.#answers = answers;
  }

  /** `file` may be absent. */
  static async open<Answer>(file: string): Promise<KeptAnswers<Answer>> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '{}';
      throw error;
    });
    return new KeptAnswers(file, new Map(Object.entries(JSON.parse(text) as Record<string, Answer>)));
  }

  /** The kept answer to `question`, or that of `ask`, which is kept. `question` must have all that the answer depends on. */
  async answer(question: readonly unknown[], ask: () => Promise<Answer>): Promise<Answer> {
    const key = createHash('sha256').update(JSON.stringify(question)).digest('hex');
    const kept = this.#answers.get(key);
    if (kept !== undefined) return kept;
    const answer = await ask();
    this.#answers.set(key, answer);
    await writeFile(this.#file, `${JSON.stringify(Object.fromEntries(this.#answers), null, 1)}\n`);
    return answer;
  }
}
