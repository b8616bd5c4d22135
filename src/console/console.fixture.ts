/** Sends requests to a console as its page does, and as an attacker would. */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import type { ConsoleSession } from './console-api.js'

export const ours = { 'x-dragoman-console': '1', 'content-type': 'application/json' }

export interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** Uses `node:http`, because `fetch` does not allow another `Host` header. */
export function askAt(to: string, path: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<Answered> {
  const { hostname, port } = new URL(to)
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ hostname, port, path, method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

export async function beginAt(to: string, body: unknown = {}): Promise<{ cookie: string; session: ConsoleSession }> {
  const answer = await askAt(to, '/console/api/session', { method: 'POST', headers: ours, body })
  assert.equal(answer.status, 200, answer.text)
  const [cookie = ''] = answer.headers['set-cookie'] ?? []
  return { cookie: cookie.split(';')[0] ?? '', session: JSON.parse(answer.text) as ConsoleSession }
}
