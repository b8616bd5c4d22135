export interface PostgresServer extends AsyncDisposable {
  /** The address of a database, made when it is new. */
  database(name: string): Promise<string>
  readonly port: number
  /** In good order, or as a crash would end it. */
  stop(how?: 'immediate' | 'fast'): Promise<void>
  start(): Promise<void>
}

export function startPostgres(): Promise<PostgresServer>
