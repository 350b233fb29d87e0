/** What template.ts and token-spans.ts need of the tokenizer library's class. */
export interface Vocabulary {
  readonly normalizer: { normalize(text: string): string } | null;
  readonly post_processor: {
    post_process(
      tokens: string[],
      pair: string[] | null,
    ): { readonly tokens: readonly string[]; readonly token_type_ids?: readonly number[] };
  } | null;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
}
