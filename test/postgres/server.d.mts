export interface PostgresServer extends AsyncDisposable {
  /** The address of a database, made when it is new. */
  database(name: string): Promise<string>
  readonly port: number
  /** In good order, or as a crash would end it. */
  stop(how?: 'immediate' | 'fast'): Promise<void>
  start(): Promise<void>
}

export interface PostgresOptions {
  /** Whether what is committed survives a power cut, as Postgres promises unless it is told otherwise. Default false. */
  readonly isDurable?: boolean
}

export function startPostgres(options?: PostgresOptions): Promise<PostgresServer>
