export {
  BATCH_RATIO,
  type EndedJobs,
  type LogEvidence,
  NO_EVIDENCE,
  type Pairs,
  type Samples,
  TOLERANCE,
} from './evidence.ts';
export {
  DOUBT_LIMIT,
  EVIDENCE_KINDS,
  EVIDENCE_LIMIT,
  type EvidenceKind,
  FALSE_ALARM_RATE,
  type JudgedBy,
  LEAST_SAMPLES,
  totalEvidence,
  type Verdict,
  verdictOf,
} from './verdict.ts';
