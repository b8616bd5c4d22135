/** MCP: agents as tools of MCP clients, and MCP servers as agents. */

export { type McpEndpointOptions, mcpEndpoint } from './endpoint.js'
export { fromMcp } from './from-mcp.js'
export type { McpClient } from './mcp-client.js'
