import type { JsonValue } from '../model/part.js'

/** The value as JSON; undefined if JSON cannot express it. */
export function toJson(value: unknown): JsonValue | undefined {
  try {
    const text = JSON.stringify(value) as string | undefined
    return text === undefined ? undefined : (JSON.parse(text) as JsonValue) // JSON.parse returns JSON values only
  } catch {
    return undefined // cyclic, or a BigInt
  }
}

/** The value of JSON text; `otherwise` if the text is not JSON. */
export function parseJson<Otherwise>(text: string, otherwise: Otherwise): JsonValue | Otherwise {
  try {
    return JSON.parse(text) as JsonValue // JSON.parse returns JSON values only
  } catch {
    return otherwise
  }
}
