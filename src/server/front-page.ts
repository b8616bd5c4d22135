/**
 * What people see who open an agent's address in a browser: what this is, and where its card is. It tells what the
 * card tells and nothing else, and stands behind the same door as everything but the card.
 */
import type { AgentCard } from '../model/agent-card.js'

/** Whether a person is looking, and not a program. */
export function isVisit({ method, headers }: Request, path: string): boolean {
  const isRoot = path === '' || path === '/'
  return isRoot && (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.get('accept') ?? '')
}

export function frontPage({ name, description, supportedInterfaces }: AgentCard, url: string): Response {
  const [title, words, card] = [name, description, `${url}/.well-known/agent-card.json`].map(escaped)
  const interfaces = supportedInterfaces.map(
    ({ protocolBinding, protocolVersion, url: at }) =>
      `<li>${escaped(protocolBinding)} ${escaped(protocolVersion)}: <code>${escaped(at)}</code></li>`,
  )
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
<p>${words}</p>
<p>This is an agent that speaks the Agent2Agent protocol. Programs read <a href="${card}">its card</a> and call it at:</p>
<ul>
${interfaces.join('\n')}
</ul>
</html>
`
  return new Response(page, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      // Nothing is loaded, nothing runs, nobody shows it as theirs.
      'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    },
  })
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
