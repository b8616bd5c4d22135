/** What was typed cannot be meant: one sentence on stderr, exit code 2. */
export class UsageError extends Error {}
