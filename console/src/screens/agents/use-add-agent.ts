import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../link/api.js'
import { go } from '../../route.js'

/** Names an agent, so that it may be called, and goes to it. */
export function useAddAgent() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (ref: string) => api<{ readonly ref: string }>('POST', 'agents', { ref }),
    onSuccess: async ({ ref }) => {
      await queries.refetchQueries({ queryKey: ['session'] })
      go(['agents', ref])
    },
  })
}
