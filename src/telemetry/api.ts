/**
 * Loads OpenTelemetry's API if an application uses it. Its 44 modules take 20 ms of CPU on Node 20, most processes register no
 * SDK, and a web page would have to download it.
 */
export type Api = typeof import('@opentelemetry/api')

/**
 * The member of `globalThis` in which version 1 of the API keeps what applications register. It is not documented; if it
 * changes, nothing is traced or measured, and the tests of spans and metrics fail.
 */
const registered = Symbol.for('opentelemetry.js.api.1')

let loaded: Api | undefined

/** Loads the API if an application has registered an SDK. Await it before `telemetryApi`. */
export async function loadTelemetry(): Promise<Api | undefined> {
  if (loaded === undefined && registered in globalThis) loaded = await import('@opentelemetry/api')
  return loaded
}

/** Undefined if no SDK was registered when `loadTelemetry` was called. */
export function telemetryApi(): Api | undefined {
  return loaded
}
