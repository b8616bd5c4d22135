/** The console's own answers: plain JSON, never kept, never taken for a page. */
const headers = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

export function json(status: number, value: unknown, more: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { ...headers, ...more } })
}

/** What was wrong, for a person; and for the page, which speaks other languages too, what kind of thing it is. */
export function refusal(status: number, error: string, code?: string): Response {
  return json(status, { error, ...(code !== undefined && { code }) })
}
