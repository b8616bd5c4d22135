/**
 * A mistake in the code of an agent, such as an unknown option. Callers get the message (E-8), so it has names and types of
 * values only, never the values.
 */
export class AuthorError extends TypeError {}
