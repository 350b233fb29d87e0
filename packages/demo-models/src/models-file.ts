import { fileURLToPath } from 'node:url';

/** Path of the models.yaml that ships with Lehr: the demo models, for an installation that names none of its own. */
export const demoModelsFile = (): string => fileURLToPath(new URL('../models/models.yaml', import.meta.url));
