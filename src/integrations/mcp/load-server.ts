/** Loads the server of MCP with the first request: it takes longer to load than most commands run. */
import { loadPackage } from '../../model/load-package.js'

export type ServerSdk = typeof import('@modelcontextprotocol/server')

export async function loadServerSdk(): Promise<ServerSdk> {
  return await loadPackage('The MCP endpoint', '@modelcontextprotocol/server', import('@modelcontextprotocol/server'))
}

export async function loadStdio(): Promise<typeof import('@modelcontextprotocol/server/stdio')> {
  return await loadPackage(
    '`dragoman mcp`',
    '@modelcontextprotocol/server',
    import('@modelcontextprotocol/server/stdio'),
  )
}
