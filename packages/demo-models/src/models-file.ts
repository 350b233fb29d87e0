import { fileURLToPath } from 'node:url';

/** Path of the models.yaml of the demo models, the default when LEHR_MODELS is not set. */
export const demoModelsFile = (): string => fileURLToPath(new URL('../models/models.yaml', import.meta.url));
