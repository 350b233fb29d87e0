/**
 * The parts of making a model ready, in their order: fetching its folder, loading its graphs, its warm-up, and the first job that the open
 * model ran to its end, from its claim on.
 */
export const LOAD_STAGES = ['pull', 'open', 'warm-up', 'first-answer'] as const;
export type LoadStage = (typeof LOAD_STAGES)[number];
