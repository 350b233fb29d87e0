/** One or more faults of the configuration, in one message. The programs print it without a stack. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`Configuration is not usable:\n${faults.map(listItem).join('\n')}`);
    this.faults = faults;
  }
}

/** The further lines of a fault are indented below its first one. */
const listItem = (fault: string): string => `  - ${fault.replaceAll('\n', '\n    ')}`;
