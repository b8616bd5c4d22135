/**
 * The members of `@langchain/core` that `asTools` uses. The package is an optional peer and not installed here: with its
 * dependencies it has 50 MB. `integrations/langgraph` checks the code against the real types.
 */
declare module '@langchain/core/tools' {
  export interface StructuredToolInterface {
    readonly name: string
    readonly description: string
    invoke(input: unknown, config?: unknown): Promise<unknown>
  }
  export function tool(
    run: (input: never, config?: { readonly signal?: AbortSignal }) => Promise<string>,
    fields: { readonly name: string; readonly description: string; readonly schema: object },
  ): StructuredToolInterface
}
