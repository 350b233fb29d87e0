/** The routes for clients of other APIs; they make the same jobs as the native routes. */
import type { Api, ApiParts } from '../parts.ts';
import { classicRoutes } from './classic/draw.ts';
import { huggingFaceRoutes } from './huggingface/calls.ts';
import { modelListRoute } from './models.ts';
import { audioRoutes } from './openai/audio.ts';
import { embeddingRoutes } from './openai/embeddings.ts';
import { imageRoutes } from './openai/images.ts';
import { createPredictionRoutes } from './replicate/create.ts';
import { replicateModelRoutes } from './replicate/models.ts';
import { predictionRoutes } from './replicate/predictions.ts';
import { predictionStreamRoute } from './replicate/stream.ts';
import { webhookSecretRoute } from './replicate/webhook-secret.ts';

export function dialectRoutes(app: Api, parts: ApiParts): void {
  imageRoutes(app, parts);
  audioRoutes(app, parts);
  embeddingRoutes(app, parts);
  createPredictionRoutes(app, parts);
  predictionRoutes(app, parts);
  predictionStreamRoute(app, parts);
  replicateModelRoutes(app, parts);
  modelListRoute(app, parts);
  webhookSecretRoute(app, parts);
  classicRoutes(app, parts);
  huggingFaceRoutes(app, parts);
}
