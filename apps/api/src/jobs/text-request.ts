/** A request of one of the text tasks. */
import type {
  FillMaskRequest,
  TextClassificationRequest,
  TextEmbeddingRequest,
  TokenClassificationRequest,
} from '@lehr/shared';

interface Request<Type extends string, Input> {
  readonly type: Type;
  readonly model?: string | undefined;
  readonly input: Input;
}

export type TextRequest =
  | Request<'text-embedding', TextEmbeddingRequest>
  | Request<'text-classification', TextClassificationRequest>
  | Request<'fill-mask', FillMaskRequest>
  | Request<'token-classification', TokenClassificationRequest>;
