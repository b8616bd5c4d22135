/** MCP: agents as tools of MCP clients, and MCP servers as agents. */

export { type McpEndpointOptions, mcpEndpoint } from './endpoint.js'
