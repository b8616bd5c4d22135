export interface PostgresServer extends AsyncDisposable {
  /** The address of a database, which is created if missing. */
  database(name: string): Promise<string>
  readonly port: number
  /** `fast`: a regular shutdown. `immediate`: as after a crash. */
  stop(how?: 'immediate' | 'fast'): Promise<void>
  start(): Promise<void>
}

export interface PostgresOptions {
  /** Whether commits survive a power cut, which is the default of Postgres. Default false. */
  readonly isDurable?: boolean
}

export function startPostgres(options?: PostgresOptions): Promise<PostgresServer>
