/** Agents as tools of MCP clients over HTTP. */
import { mcpScenarios } from './mcp-scenarios.js'

mcpScenarios('HTTP', ({ url }) => ({ url }))
