import type { Dialect } from './dialect.js'
import { v1 } from './v1/index.js'

/** Every dialect, newest first. */
export const dialects: readonly Dialect[] = [v1]
