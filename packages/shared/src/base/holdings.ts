/** How much each owner holds of a limited supply. Owners that hold nothing are forgotten: callers choose their names. */
export class Holdings<Owner = string> {
  readonly #held = new Map<Owner, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(owner: Owner): number {
    return this.#held.get(owner) ?? 0;
  }

  /** Less than zero gives back. */
  add(owner: Owner, amount: number): void {
    this.#total += amount;
    const held = this.of(owner) + amount;
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
  }
}
